package attempt

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/redact"
)

// In whatever pieces a text comes, a heartbeat has its end: at most [maxProgressBytes] bytes, valid UTF-8, and no part of a secret
// that was written as a whole. A character of which only a part has come is left out.
func TestHeartbeatHasTheEndOfTheText(t *testing.T) {
	const secret = "correct-horse-battery-staple" // not random, so the redactor does not recognise its parts
	letters := []string{"a", "é", "日", "👩", "\n"}
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		a := &Attempt{tells: true, worker: &Worker{redact: redact.New(secret).Text}}
		var whole strings.Builder
		for whole.Len() < 20+int(seed)*50 {
			switch random.IntN(50) {
			case 0:
				whole.WriteString(secret + " ")
			case 1:
				whole.WriteString("\xff")
			default:
				whole.WriteString(letters[random.IntN(len(letters))])
			}
		}
		text := whole.String()
		for rest := text; rest != ""; {
			n := min(len(rest), 1+random.IntN(1+random.IntN(5000)))
			a.AddText(rest[:n])
			rest = rest[n:]
			got := a.Progress().Text
			require.LessOrEqual(t, len(got), maxProgressBytes+2*strings.Count(got, "\uFFFD"), "seed %d", seed)
			require.True(t, utf8.ValidString(got), "seed %d", seed)
			require.NotContains(t, got, "staple", "seed %d", seed)
		}
		p := a.Progress()
		require.Equal(t, len(text), p.Said)
		clean := strings.ToValidUTF8(redact.New(secret).Text(text), "\uFFFD")
		require.True(t, strings.HasSuffix(clean, p.Text), "seed %d", seed)
		require.Greater(t, len(p.Text), min(len(clean), maxProgressBytes)-utf8.UTFMax, "seed %d", seed)
	}
	a := &Attempt{tells: true, worker: &Worker{redact: func(s string) string { return s }}}
	a.AddText("日本"[:4])
	require.Equal(t, "日", a.Progress().Text)
	a.AddText("日本"[4:])
	require.Equal(t, "日本", a.Progress().Text)

	a.told = a.Progress().Said
	a.ClearText()
	a.AddText("本日")
	require.Equal(t, "本日", a.Progress().Text, "another text takes the place of the first")
	require.True(t, a.hasNews(), "although it is as long")

	unwatched := &Attempt{worker: a.worker}
	unwatched.AddText("text")
	require.Zero(t, unwatched.Progress().Said)
}
