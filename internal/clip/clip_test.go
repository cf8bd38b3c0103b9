package clip_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/clip"
)

func FuzzNoRuneIsCut(f *testing.F) {
	for _, text := range []string{"", "plain", "süß", "日本語", "🙂🙂🙂", "\x80\x80\x80\x80\x80\x80"} {
		f.Add(text, 5)
	}
	f.Fuzz(func(t *testing.T, text string, limit int) {
		limit %= 1000
		prefix := clip.Prefix(text, limit)
		require.True(t, strings.HasPrefix(text, prefix))
		require.LessOrEqual(t, len(prefix), max(limit, 0))
		require.True(t, len(prefix) == len(text) || len(prefix) > limit-utf8.UTFMax, "no more is cut off than a rune")
		shown := clip.Text(text, limit)
		require.LessOrEqual(t, len(shown), max(limit, len("…")))
		if utf8.ValidString(text) {
			require.True(t, utf8.ValidString(prefix))
			require.True(t, utf8.ValidString(shown))
		}
	})
}
