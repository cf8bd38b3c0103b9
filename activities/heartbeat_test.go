package activities_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// A call sends two heartbeats in its heartbeat timeout, and no text. If somebody asks for the text, it sends one each second.
func TestHeartbeatsAreFew(t *testing.T) {
	for name, c := range map[string]struct {
		timeout time.Duration
		text    bool
		beats   int
	}{
		"3 s":        {3 * time.Second, false, 5},
		"30 s":       {30 * time.Second, false, 0},
		"30 s, text": {30 * time.Second, true, 8},
	} {
		synctest.Test(t, func(t *testing.T) {
			model := llmtest.Func(func(ctx context.Context, _ llm.Request) (llm.Reply, error) {
				for range 8 {
					time.Sleep(time.Second) // of the bubble's clock
					llm.Stream(ctx)(llm.Delta{Text: "word "})
				}
				time.Sleep(time.Millisecond) // of the bubble's clock, past the last heartbeat
				return llmtest.Say("words"), nil
			})
			s := newStage(t, model)
			s.say(llm.User, "speak")
			s.named.timeout, s.named.started = c.timeout, time.Now()
			in := s.input(1)
			in.PartialText = c.text
			_, err := s.ask(in)
			require.NoError(t, err)
			heard := s.workflow.heard()
			require.Len(t, heard, c.beats, name)
			for _, p := range heard {
				require.Equal(t, c.text && p.Said > 0, p.Text != "", name)
			}
			require.Equal(t, c.text, len(heard) > 0 && heard[len(heard)-1].Said > 0, name)
		})
	}
}
