package recovery_test

import (
	"context"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/history"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// A message may wait for its turn while the running turn is held. `starter show` shows this message. The agent takes it
// after the message that lets the held turn go on.
func TestMessageBeforeAHoldWaitsAndIsShown(t *testing.T) {
	t.Parallel()
	g := world.NewGate()
	w := world.New(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		if len(req.Messages) > 1 {
			return llmtest.Say("answer to " + req.Messages[len(req.Messages)-1].Content), nil
		}
		if err := g.Pass(ctx); err != nil {
			return llm.Reply{}, err
		}
		return llm.Reply{}, &llm.Error{Class: llm.InvalidRequest, Message: "not like that"}
	}, nil, "")
	w.Worker()
	id := t.Name()
	w.Must("run", "--chat", "--detach", "--id", id, "one")
	g.Wait(t)
	w.Must("send", "--detach", "--next", id, "two")
	close(g.Open)
	w.Ends(id, "held")
	require.Contains(t, w.Must("show", id), "waiting  > two")
	w.Must("send", "--detach", id, "three")
	require.Equal(t, []string{"user: one", "user: three", "assistant: answer to three", "user: two", "assistant: answer to two"}, w.Transcript(id, 5))
}

// With `retry_for`, an outage needs nobody's hand: the call is tried again until the endpoint answers, also by another worker, without a
// history event for each attempt. Nothing that is paid for comes twice. After the time, the turn is held as without the setting.
func TestOutageIsWaitedOutForTheTimeOfTheSetting(t *testing.T) {
	t.Parallel()
	var attempts atomic.Int64
	w := world.New(t, func(context.Context, llm.Request) (llm.Reply, error) {
		if attempts.Add(1) <= 15 {
			return llm.Reply{}, &llm.Error{Class: llm.Overloaded, Message: "down", RetryAfter: time.Second}
		}
		return llmtest.Say("up again"), nil
	}, nil, "")
	retryFor(w, "10m")
	first := w.Worker()
	id := t.Name()
	w.Must("run", "--chat", "--detach", "--id", id, "hello")
	w.Eventually("people are told until when it is tried", func() bool {
		return attempts.Load() >= 3 && strings.Contains(w.Must("show", id), "; it is tried until ")
	})
	first.Kill()
	w.Worker()
	w.Ends(id, "waiting")
	require.Equal(t, []string{"user: hello", "assistant: up again"}, w.Transcript(id, 2))
	calls := 0
	for event, err := range history.Events(t.Context(), w.Temporal, agent.RunRef{ID: id}) {
		require.NoError(t, err)
		if event.GetActivityTaskStartedEventAttributes() != nil {
			calls++
		}
	}
	require.Equal(t, 2, calls, "the definition and the model call, however often it was tried")
	require.Equal(t, []int{16}, world.Values(w.Requests()), "one key, and one reply")
}

// An outage that is longer than `retry_for` holds the turn, as without the setting.
func TestOutageThatIsLongerThanTheSettingHoldsTheTurn(t *testing.T) {
	t.Parallel()
	w := world.New(t, func(context.Context, llm.Request) (llm.Reply, error) {
		return llm.Reply{}, &llm.Error{Class: llm.Overloaded, Message: "down", RetryAfter: time.Second}
	}, nil, "")
	retryFor(w, "2500ms")
	w.Worker()
	w.Must("run", "--chat", "--detach", "--id", t.Name(), "hello")
	w.Ends(t.Name(), "held")
	require.Regexp(t, "down; gave up after [23] attempts", w.Must("show", t.Name()))
}

func retryFor(w *world.World, setting string) {
	data, err := os.ReadFile(w.Config)
	require.NoError(w.T, err)
	w.WriteConfig(strings.Replace(string(data), "model: scripted,", "model: scripted, retry_for: "+setting+",", 1))
}
