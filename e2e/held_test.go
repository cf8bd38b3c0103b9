package e2e_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// A message that waited when its turn was held is shown, and follows the message that lets the turn go on.
func TestMessageBeforeAHoldWaitsAndIsShown(t *testing.T) {
	t.Parallel()
	g := newGate()
	w := newWorld(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		if len(req.Messages) > 1 {
			return llmtest.Say("answer to " + req.Messages[len(req.Messages)-1].Content), nil
		}
		if err := g.pass(ctx); err != nil {
			return llm.Reply{}, err
		}
		return llm.Reply{}, &llm.Error{Class: llm.InvalidRequest, Message: "not like that"}
	}, nil, "")
	w.worker()
	id := t.Name()
	w.must("run", "--chat", "--detach", "--id", id, "one")
	g.wait(t)
	w.must("send", "--detach", "--next", id, "two")
	close(g.open)
	w.ends(id, "held")
	require.Contains(t, w.must("show", id), "waiting  > two")
	w.must("send", "--detach", id, "three")
	require.Equal(t, []string{"user: one", "user: three", "assistant: answer to three", "user: two", "assistant: answer to two"}, w.transcript(id, 5))
}
