package activities_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"

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

// Between two heartbeats, a call notices within two seconds that it was cancelled or lost. A call that was lost goes on, because a
// later attempt may need its result.
func TestEndOfAnAttemptIsSeenBetweenHeartbeats(t *testing.T) {
	for name, c := range map[string]struct {
		state   enumspb.PendingActivityState
		attempt int32
		ends    bool
	}{
		"alive":     {enumspb.PENDING_ACTIVITY_STATE_STARTED, 1, false},
		"cancelled": {enumspb.PENDING_ACTIVITY_STATE_CANCEL_REQUESTED, 1, true},
		"lost":      {enumspb.PENDING_ACTIVITY_STATE_STARTED, 2, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			took := time.Duration(0)
			model := llmtest.Func(func(ctx context.Context, _ llm.Request) (llm.Reply, error) {
				began := time.Now()
				select {
				case <-ctx.Done():
				case <-time.After(10 * time.Second): // of the bubble's clock
				}
				took = time.Since(began)
				return llmtest.Say("words"), ctx.Err()
			})
			s := newStage(t, model)
			s.say(llm.User, "speak")
			s.named.timeout, s.named.started = 30*time.Second, time.Now()
			s.workflow.state, s.workflow.attempt = c.state, c.attempt
			s.workflow.answer = func(int32) error {
				if c.ends {
					return temporal.NewCanceledError()
				}
				return nil
			}
			_, _ = s.ask(s.input(1))
			require.Equal(t, c.ends, took < 2*time.Second, "%s: %v", name, took)
		})
	}
}
