package clip_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/clip"
)

func TestClipKeepsHeadAndTail(t *testing.T) {
	require.Equal(t, "short", clip.Middle("short", 5))
	require.Equal(t, "shor", clip.Middle("short", 4))
	require.Empty(t, clip.Middle("short", -1))
	require.Equal(t, "a\uFFFDb", clip.Middle("a\xff\xfeb", 100))

	text := "begin " + strings.Repeat("é", 5000) + " end"
	got := clip.Middle(text, 1000)
	require.LessOrEqual(t, len(got), 1000)
	require.Greater(t, len(got), 850)
	require.True(t, strings.HasPrefix(got, "begin éé"))
	require.True(t, strings.HasSuffix(got, "éé end"))
	head, rest, _ := strings.Cut(got, "\n[")
	note, tail, _ := strings.Cut(rest, "]\n")
	require.Equal(t, fmt.Sprintf("%d bytes left out", len(text)-len(head)-len(tail)), note)
}

func TestClipBoundsTheEncodedForm(t *testing.T) {
	const limit = 512 << 10
	text := strings.Repeat("<", limit) // six bytes each in JSON
	got := clip.Middle(text, limit)
	encoded, err := json.Marshal(got)
	require.NoError(t, err)
	require.LessOrEqual(t, len(encoded), 3<<19)
	require.Greater(t, len(encoded), 3<<19-1000)
	require.Contains(t, got, "bytes left out")
}

func FuzzClip(f *testing.F) {
	f.Add("", 0, 1)
	f.Add("a\xffb<>&\u2028\x01\"\\", 120, 40)
	f.Add("日本語", 100, 300000)
	f.Fuzz(func(t *testing.T, text string, limit, repeat int) {
		text = strings.Repeat(text, min(max(repeat, 0), 1+1000000/(len(text)+1)))
		limit = min(limit, 1<<22)
		got := clip.Middle(text, limit)
		require.True(t, utf8.ValidString(got))
		require.LessOrEqual(t, len(got), max(limit, 0))
		encoded, err := json.Marshal(got)
		require.NoError(t, err)
		require.LessOrEqual(t, len(encoded), max(limit+limit/2, 3<<19))
		require.Equal(t, got, clip.Middle(got, limit))
		if valid := strings.ToValidUTF8(text, "\uFFFD"); len(valid) <= limit && len(valid) <= 1<<18 {
			require.Equal(t, valid, got)
		}
	})
}
