package cli_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/reagent-dev/reagent/agent"
	agents "github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/app/devserver"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// If the namespace has the search attributes, the lists of those that wait, of those that are held and of the calls in the inbox read
// no history of another agent. A short list reads few histories.
func TestListsReadOnlyTheAgentsThatTheyShow(t *testing.T) {
	t.Parallel()
	own, err := devserver.Start(t.Context(), devserver.Options{SearchAttributes: protocol.AttributeTypes()})
	require.NoError(t, err)
	t.Cleanup(own.Stop)
	end := make(chan struct{})
	w := world.New(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		switch req.Messages[len(req.Messages)-1].Content {
		case "ask":
			return llmtest.Call(llmtest.ToolCall("1", "ask_user", `{"question": "Which?"}`)), nil
		case "fail":
			return llm.Reply{}, &llm.Error{Class: llm.Unauthorized, Err: errors.New("no")}
		}
		select {
		case <-end:
		case <-ctx.Done():
		}
		return llmtest.Say("done"), nil
	}, nil, "    tools: [ask_user]\n")
	t.Cleanup(func() { close(end) })
	w.MoveTo(own)
	w.Worker()
	const others = 20
	start := func(o agents.StartOptions) {
		o.Agent = "x"
		_, err := w.Client.Start(t.Context(), o)
		require.NoError(t, err)
	}
	start(agents.StartOptions{Message: "ask"})
	start(agents.StartOptions{Message: "ask"})
	start(agents.StartOptions{Message: "fail", Mode: agent.Chat})
	for range others {
		start(agents.StartOptions{Message: "work"})
	}
	for status, count := range map[string]int64{"waiting": 2, "held": 1, "running": others} {
		w.Eventually("the agents are "+status, func() bool {
			found, err := w.Temporal.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{Query: "ReagentStatus = '" + status + "'"})
			return err == nil && found.GetCount() == count
		})
	}
	requests := world.CountRequests(t, own.Address())
	for _, c := range []struct {
		command []string
		lines   int
		reads   int
	}{
		{[]string{"list", "--waiting"}, 2, 2},
		{[]string{"list", "--held", "--failed"}, 1, 1},
		{[]string{"list", "--waiting", "--held"}, 3, 3},
		{[]string{"inbox"}, 2, 2},
		{[]string{"list", "--limit", "3"}, 3, 8},
	} {
		found := world.Objects[struct{}](w, append(c.command, "--json", "--address", requests.Address())...)
		require.Len(t, found, c.lines, c.command)
		require.LessOrEqual(t, requests.Take()["GetWorkflowExecutionHistory"], c.reads, c.command)
	}
}
