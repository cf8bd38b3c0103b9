package canon_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/canon"
)

func TestTextIsCanonical(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"white space goes", " { \"a\" :\n[ 1 , 2 ]\t} ", `{"a":[1,2]}`},
		{"members are sorted at every level", `{"b":{"d":1,"c":2},"a":0}`, `{"a":0,"b":{"c":2,"d":1}}`},
		{"digits stay as written", `[9007199254740993,1.0,1e3,-0]`, `[9007199254740993,1.0,1e3,-0]`},
		{"the shortest escapes", `"\u0008\u0009\u000a\u000c\u000d\u001F\u0022\u005c\u002f\u007f"`, "\"\\b\\t\\n\\f\\r\\u001f\\\"\\\\/\x7f\""},
		{"no HTML escapes", `"<\u003c&\u0026\u2028"`, "\"<<&&\u2028\""},
		// RFC 8785 section 3.2.3: sorted by UTF-16 code units, not by code points.
		{"sorted by UTF-16", `{"€":1,"\r":2,"\ufb33":3,"1":4,"😀":5,"\u0080":6,"ö":7}`, "{\"\\r\":2,\"1\":4,\"\u0080\":6,\"ö\":7,\"€\":1,\"😀\":5,\"\ufb33\":3}"},
		{"a whole surrogate pair", `"\ud83d\uDE00"`, `"😀"`},
		{"an escaped backslash before u", `"\\ud83d"`, `"\\ud83d"`},
		{"literals", `[true,false,null,"",{},[]]`, `[true,false,null,"",{},[]]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := canon.Text([]byte(c.in))
			require.NoError(t, err)
			require.Equal(t, c.want, string(got))
		})
	}
}

func TestTextRefusesWhatHasNoCanonicalForm(t *testing.T) {
	for name, in := range map[string]string{
		"nothing":              "",
		"a word":               "hello",
		"cut short":            `{"a":`,
		"two values":           `{} {}`,
		"a stray bracket":      `{}]`,
		"a member twice":       `{"a":1,"a":2}`,
		"twice by escape":      `{"a":1,"\u0061":2}`,
		"invalid UTF-8":        "\"\xff\"",
		"half a surrogate":     `"\ud83d"`,
		"the other half":       `"\ude00"`,
		"two first halves":     `"\ud83d\ud83d"`,
		"trailing comma":       `[1,]`,
		"single quotes":        `{'a':1}`,
		"control character":    "\"\x01\"",
		"a number of no shape": `01`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := canon.Text([]byte(in))
			require.ErrorIs(t, err, canon.ErrNotJSON)
		})
	}
}

// The canonical form of a canonical form is the same text. It is JSON and has the same value as the original text.
func FuzzText(f *testing.F) {
	for _, seed := range []string{`{"b":1,"a":[2.50,"\u00e9\n",null]}`, `"\ud83d\ude00"`, `[1e400,-0]`, `{"":{"":0}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		once, err := canon.Text(text)
		if err != nil {
			require.ErrorIs(t, err, canon.ErrNotJSON)
			return
		}
		twice, err := canon.Text(once)
		require.NoError(t, err)
		require.Equal(t, string(once), string(twice))

		var before, after any
		require.NoError(t, unmarshal(text, &before))
		require.NoError(t, unmarshal(once, &after))
		require.Equal(t, before, after)
	})
}

func unmarshal(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(v)
}
