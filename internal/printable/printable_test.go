package printable

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestAttackTextDrivesNoTerminal(t *testing.T) {
	for text, want := range map[string]string{
		"plain, ünïcode, 日本語\n\tand tabs":       "plain, ünïcode, 日本語\n\tand tabs",
		"\x1b]0;title\a\x1b[2J":                 `\x1b]0;title\x07\x1b[2J`,
		"C1 \u009b31m \u009d0;t \u0085 DEL\x7f": `C1 \x9b31m \x9d0;t \x85 DEL\x7f`,
		"invoice\u202efdp.exe":                  `invoice\u202efdp.exe`,
		"a\u200bb\ufeffc\u2060d\u00ade":         `a\u200bb\ufeffc\u2060d\xade`,
		"x\u2028y\u2029z":                       `x\u2028y\u2029z`,
		"tag \U000e0041 filler \u3164":          `tag \U000e0041 filler \u3164`,
		"one\r\ntwo\rthree":                     "one\ntwo\\x0dthree",
		"\xff\x9b":                              "\ufffd\ufffd",
		"👩\u200d👧 نمی\u200cخواهم":               "👩\u200d👧 نمی\u200cخواهم",
		"a\u200db \u200d👧":                      `a\u200db \u200d👧`,
	} {
		require.Equal(t, want, Text(text), "%q", text)
	}
	for r := range rune(unicode.MaxRune) {
		if utf8.ValidRune(r) && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) && r != '\n' && r != '\t' {
			require.NotContains(t, Text("é"+string(r)+"a"), string(r))
		}
	}
}

func TestAttackLineIsOneLine(t *testing.T) {
	require.Equal(t, `a b\x85c \x1b[A`, Line(" a \t\n b\u0085c\u00a0\x1b[A", 50))
	require.Equal(t, "abc…", Line("abcdef", 4))
	require.Equal(t, `id\u200b`, Name("id\u200b"))
}

func TestAttackJSONKeepsItsValueAndDrivesNoTerminal(t *testing.T) {
	value := map[string]string{"k\u009d": "\x1b[2J \x7f\u0085\u009b\u202e\u200b\U000e0041 é日👩\u200d👧\n"}
	var encoded bytes.Buffer
	e := json.NewEncoder(&encoded)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	require.NoError(t, e.Encode(value))
	safe := JSON(encoded.Bytes())
	require.Equal(t, string(safe), Text(string(safe)), "nothing is left to escape")
	require.Contains(t, string(safe), `\u009d`)
	require.Contains(t, string(safe), "é日👩")
	var back map[string]string
	require.NoError(t, json.Unmarshal(safe, &back))
	require.Equal(t, value, back)
}

func TestAttackWriterEscapesAcrossWrites(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out)
	require.Same(t, w, NewWriter(w))
	for _, c := range []byte("é\u009b31m 日\u202e.\xc2") {
		n, err := w.Write([]byte{c})
		require.NoError(t, err)
		require.Equal(t, 1, n)
	}
	_, err := w.Write([]byte("x\n"))
	require.NoError(t, err)
	require.Equal(t, "é\\x9b31m 日\\u202e.\ufffdx\n", out.String())
	require.Same(t, &out, Unwrap(w))
	require.Same(t, &out, Unwrap(&out))
}
