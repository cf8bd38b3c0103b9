package recovery_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/world"
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
