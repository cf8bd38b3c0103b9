package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const key = "sk-proj-8Qw/eR+tY7uI0pAsDfGhJkL=Zx"

// A key is hidden in every encoded form, and so is a text with most of its bytes.
func TestAttackKeyIsHiddenInEveryForm(t *testing.T) {
	escaped, everything := "", ""
	for _, b := range []byte(key) {
		escaped += fmt.Sprintf(`\u%04x`, b)
		everything += fmt.Sprintf("%%%02x", b)
	}
	quoted, err := json.Marshal(`"` + key + `"`)
	require.NoError(t, err)
	authorization := base64.StdEncoding.EncodeToString([]byte("Bearer " + key))
	forms := map[string]string{
		"itself":            key,
		"query":             url.QueryEscape(key),
		"path":              url.PathEscape(key),
		"percent":           everything,
		"JSON":              string(quoted),
		"JSON of JSON":      strings.ReplaceAll(string(quoted), `\`, `\\`),
		"JSON with slashes": strings.ReplaceAll(key, "/", `\/`),
		"JSON in full":      escaped,
		"hex":               hex.EncodeToString([]byte(key)),
		"HEX":               strings.ToUpper(hex.EncodeToString([]byte(key))),
		"base64":            base64.StdEncoding.EncodeToString([]byte(key)),
		"base64 raw":        base64.RawStdEncoding.EncodeToString([]byte(key)),
		"base64url":         base64.URLEncoding.EncodeToString([]byte(key)),
		"base64url raw":     base64.RawURLEncoding.EncodeToString([]byte(key)),
		"base64 of more":    authorization,
		"base64 of user":    base64.StdEncoding.EncodeToString([]byte("me:" + key + ":x")),
		"all but four":      key[:len(key)-4],
		"all but the first": key[4:],
		"the half":          key[:len(key)/2],
		"spaced":            strings.Join(strings.Split(key, ""), " "),
		"lines":             key[:10] + "\n" + key[10:],
		"no width":          strings.Join(strings.Split(key, ""), "\u200b"),
		"base64 in lines":   authorization[:20] + "\r\n  " + authorization[20:],
		"capitals":          strings.ToUpper(key),
		"small letters":     strings.ToLower(key),
		"title":             strings.ToUpper(key[:1]) + strings.ToLower(key[1:]),
		"capitals in query": url.QueryEscape(strings.ToUpper(key)),
		"capitals in hex":   hex.EncodeToString([]byte(strings.ToUpper(key))),
		"small in HEX":      strings.ToUpper(hex.EncodeToString([]byte(strings.ToLower(key)))),
		"small in base64":   base64.StdEncoding.EncodeToString([]byte(strings.ToLower(key))),
		"capitals, spaced":  strings.Join(strings.Split(strings.ToUpper(key), ""), " "),
		"half in capitals":  strings.ToUpper(key[:len(key)/2]) + key[len(key)/2:],
		"part in capitals":  strings.ToUpper(key[5:25]),
		"HTML":              strings.NewReplacer("/", "&#47;", "+", "&#x2B;", "=", "&equals;").Replace(key),
		"HTML in capitals":  strings.NewReplacer("/", "&#47;", "+", "&plus;").Replace(strings.ToUpper(key)),
	}
	r := New("other-secret-1234", key, "")
	for name, form := range forms {
		got := r.Text("the key " + form + " is wrong")
		require.Contains(t, got, "[hidden]", name)
		// The rest around a fragment may stay: "Bearer " in base64, and the last bytes.
		require.LessOrEqual(t, len(got), len("the key QmVhcmVyIH[hidden]Wng= is wrong"), "%s: %s", name, got)
		require.True(t, strings.HasPrefix(got, "the key ") && strings.HasSuffix(got, " is wrong"), got)
	}
}

// A secret is hidden even if it overlaps another secret or is the beginning of one. An earlier version leaked 31 of 200 such
// secrets.
func TestAttackSecretWithinAnotherIsHidden(t *testing.T) {
	secrets := []string{"tiger", "tiger-two", "wo tigers", "TIGER"}
	for i := range secrets {
		r := New(append(append([]string{}, secrets[i:]...), secrets[:i]...)...)
		for _, secret := range secrets {
			require.Equal(t, "a [hidden] b", r.Text("a "+secret+" b"))
		}
		require.Equal(t, "[hidden]", r.Text("tiger-two tigers"))
	}
}

func TestOtherTextStaysAsItIs(t *testing.T) {
	r := New(key, "production", "/home/me/project/data", "abc")
	for _, text := range []string{
		"", "x", "sk-proj-", "the key is sk-proj-other, 100% wrong \\ \n\t", "abc", "/home/me/project/other", "\xff\xfe%zz%4",
	} {
		require.Equal(t, text, r.Text(text))
	}
	require.Equal(t, "in [hidden] at [hidden]/x", r.Text("in production at /home/me/project/data/x"))
	require.Equal(t, "text", (*Redactor)(nil).Text("text"))
}

// A word keeps its meaning in another case, so only a secret that is long enough is hidden in all of them.
func TestAttackCaseDoesNotShowASecret(t *testing.T) {
	r := New("hunter42-Prod", "key1", "Zürich-und-Weg")
	for _, text := range []string{"HUNTER42-PROD", "Hunter42-prod", "hUNTER42-pROD", "zürich-und-weg", "ZÜRICH-UND-WEG", "key1"} {
		require.Equal(t, "a [hidden] b", r.Text("a "+text+" b"))
	}
	require.Equal(t, "a KEY1 b", r.Text("a KEY1 b"))
}

func FuzzText(f *testing.F) {
	f.Add("a secret value", "the secret value %73 \\u0073")
	f.Fuzz(func(t *testing.T, secret, text string) {
		r := New(secret)
		got := r.Text(text + secret + text)
		if trimmed := strings.TrimSpace(secret); len(trimmed) >= minSecret && !strings.Contains(hidden, trimmed) {
			for part := range strings.SplitSeq(got, hidden) {
				require.NotContains(t, part, trimmed)
			}
		}
	})
}

// Keys that change are hidden as soon as they are known, also by a log handler that was made before.
func TestAddedSecretsAreHidden(t *testing.T) {
	r := New("first-secret-1")
	for i := range 100 {
		r.Add(fmt.Sprintf("token-%03d-abcdefgh", i))
	}
	require.Equal(t, "[hidden] [hidden]", r.Text("first-secret-1 token-099-abcdefgh"))
	require.Equal(t, "token-000-abcdefgh", r.Text("token-000-abcdefgh"), "the oldest of more than 64 is forgotten")
}
