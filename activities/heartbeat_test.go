package activities_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
	"github.com/reagent-dev/reagent/tool"
)

// A call sends two heartbeats in its heartbeat timeout, and no text. If somebody asks for the text, a model call or a tool call also
// sends one in each second in which there is new text. A call that says nothing sends no more than an unwatched call.
func TestHeartbeatsAreFew(t *testing.T) {
	for name, c := range map[string]struct {
		timeout time.Duration
		text    bool
		words   int // one in each of the first seconds
		beats   int
	}{
		"3 s":                   {3 * time.Second, false, 8, 5},
		"30 s":                  {30 * time.Second, false, 8, 0},
		"30 s, text":            {30 * time.Second, true, 8, 8},
		"30 s, text, one word":  {30 * time.Second, true, 1, 1},
		"30 s, text, no words":  {30 * time.Second, true, 0, 0},
		"3 s, text, no words":   {3 * time.Second, true, 0, 5},
		"3 s, text, two words":  {3 * time.Second, true, 2, 2 + 4}, // at 1 and 2 s, then at 3.5, 5, 6.5 and 8 s
		"100 s, text, no words": {100 * time.Second, true, 0, 0},
	} {
		speak := func(say func(string)) {
			for i := range 8 {
				time.Sleep(time.Second / 2) // of the bubble's clock
				if i < c.words {
					say("word ")
				}
				time.Sleep(time.Second / 2) // of the bubble's clock
			}
			time.Sleep(time.Millisecond) // of the bubble's clock, past the last heartbeat
		}
		for kind, call := range map[string]func(t *testing.T, s *stage) error{
			"model": func(t *testing.T, s *stage) error {
				s.say(llm.User, "speak")
				in := s.input(1)
				in.PartialText = c.text
				_, err := s.ask(in)
				return err
			},
			"tool": func(t *testing.T, s *stage) error {
				result, err := s.call(protocol.CallToolInput{CallID: "c1", Ref: "speaker", Arguments: "{}", PartialText: c.text})
				require.Equal(t, "done", result.Content, "what a tool reports does not enter its result")
				return err
			},
		} {
			synctest.Test(t, func(t *testing.T) {
				model := llmtest.Func(func(ctx context.Context, _ llm.Request) (llm.Reply, error) {
					speak(func(word string) { llm.Stream(ctx)(llm.Delta{Text: word}) })
					return llmtest.Say("words"), nil
				})
				speaker := tool.MustFunc("speaker", "", tool.AtMostOnce, func(ctx context.Context, _ struct{}) (string, error) {
					if watched := tool.InfoFrom(ctx).Progress != nil; watched != c.text {
						return "", fmt.Errorf("watched: %v", watched)
					}
					speak(func(word string) { tool.Progress(ctx, word) })
					return "done", nil
				})
				s := newStage(t, model, speaker)
				s.named.timeout, s.named.started = c.timeout, time.Now()
				require.NoError(t, call(t, s))
				heard := s.workflow.heard()
				require.Len(t, heard, c.beats, "%s, %s", kind, name)
				said := 0
				for _, p := range heard {
					said = max(said, p.Said)
					require.Equal(t, strings.Repeat("word ", p.Said/5), p.Text, "%s, %s", kind, name)
				}
				if !c.text {
					c.words = 0
				}
				require.Equal(t, 5*c.words, said, "%s, %s", kind, name)
			})
		}
	}
}

// A later attempt does not report what an earlier one has said, also while it has not called the model yet.
func TestTextOfAnEarlierAttemptIsNotReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, llmtest.Script(llmtest.Say("done"))).attempt(2)
		s.say(llm.User, "speak")
		s.workflow.slow, s.workflow.attempt, s.workflow.named = 3*time.Second, 2, s.named
		s.named.timeout, s.named.started = 30*time.Second, time.Now()
		s.SetHeartbeatDetails(protocol.Progress{Tried: 1, Reported: 1, Attempt: 1, Text: "old", Said: 3})
		in := s.input(0)
		in.PartialText = true
		_, err := s.ask(in)
		require.NoError(t, err)
		require.NotZero(t, s.workflow.queries)
		require.Empty(t, s.workflow.heard())
	})
}

// A delta with the whole text takes the place of the earlier ones in the heartbeats. A whole reasoning does not.
func TestWholeTextReplacesThePartialText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, llmtest.Func(func(ctx context.Context, _ llm.Request) (llm.Reply, error) {
			tell := llm.Stream(ctx)
			for _, d := range []llm.Delta{{Text: "gAAAAA"}, {Reasoning: "Rain?", Whole: true}, {Text: "Sunny.", Whole: true}} {
				time.Sleep(3 * time.Second) // of the bubble's clock
				tell(d)
			}
			time.Sleep(3 * time.Second) // of the bubble's clock
			return llmtest.Say("Sunny."), nil
		}))
		s.say(llm.User, "speak")
		s.named.timeout, s.named.started = 30*time.Second, time.Now()
		in := s.input(1)
		in.PartialText = true
		_, err := s.ask(in)
		require.NoError(t, err)
		var texts []string
		for _, p := range s.workflow.heard() {
			texts = append(texts, p.Text)
		}
		require.Equal(t, []string{"gAAAAA", "Sunny."}, slices.Compact(texts))
	})
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
