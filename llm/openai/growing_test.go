package openai

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzGrowing checks that arguments which arrive in parts are complete exactly when they are a JSON object.
func FuzzGrowing(f *testing.F) {
	for _, text := range []string{`{"a":"}\"{"}`, ` {"a":[{}]} `, `{}{}`, `{"a":1`, `[{}]`, `{foo}`, `{]`, `""`, `}{`, "{}\n x"} {
		f.Add(text, 3)
	}
	f.Fuzz(func(t *testing.T, text string, at int) {
		var g growing
		at = min(max(at, 0), len(text))
		for _, part := range []string{text[:at], text[at:]} {
			g.add(part)
			object := strings.HasPrefix(strings.TrimLeft(g.String(), " \t\r\n"), "{") && json.Valid([]byte(g.String()))
			require.Equal(t, object, g.complete(), g.String())
		}
	})
}
