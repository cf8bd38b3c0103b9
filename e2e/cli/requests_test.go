package cli_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// `starter send` describes an agent at most twice and sends at most one query, whatever the agent does. While the agent works, it
// describes the agent again, at most once in a second.
func TestSendAsksForNothingTwice(t *testing.T) {
	t.Parallel()
	gate := world.NewGate()
	w := world.New(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		switch req.Messages[len(req.Messages)-1].Content {
		case "work":
			return llmtest.Say("worked"), gate.Pass(ctx)
		case "fail":
			return llm.Reply{}, &llm.Error{Class: llm.Unauthorized, Err: errors.New("no")}
		case "ask":
			return llmtest.Call(llmtest.ToolCall("1", "ask_user", `{"question": "Which?"}`)), nil
		}
		return llmtest.Say("done"), nil
	}, nil, "    tools: [ask_user]\n")
	w.Worker()
	id := func(agent string) string { return t.Name() + "-" + agent }
	w.Must("run", "--chat", "--id", id("rests"), "hello")
	w.Must("run", "--chat", "--detach", "--id", id("held"), "fail")
	w.Must("run", "--chat", "--detach", "--id", id("asks"), "ask")
	w.Must("run", "--detach", "--id", id("works"), "work")
	w.Must("run", "--id", id("ended"), "hello")
	w.Eventually("the agents are where they have to be", func() bool {
		all := w.List()
		return all["held"] == "held" && all["asks"] == "waiting" && gate.Calls.Load() > 0
	})
	requests := world.CountRequests(t, w.Address)
	for _, c := range []struct {
		agent   string
		queries int
		code    int
	}{{"rests", 1, 0}, {"held", 1, 0}, {"asks", 1, 0}, {"works", 1, 0}, {"ended", 0, 4}} {
		began := time.Now()
		cmd := w.Start("starter", "send", "--address", requests.Address(), id(c.agent), "next")
		if c.agent == "works" {
			w.Eventually("the agent has the message", func() bool {
				snap, err := w.Client.Show(t.Context(), id(c.agent))
				return err == nil && len(snap.Queue) == 1
			})
			close(gate.Open)
		}
		w.Eventually("send ends", cmd.Ended)
		seconds := int(time.Since(began).Seconds())
		require.Equal(t, c.code, cmd.Cmd.ProcessState.ExitCode(), "%s: %s", c.agent, cmd.Output())
		counts := requests.Take()
		require.LessOrEqual(t, counts["DescribeWorkflowExecution"], 2+seconds, c.agent)
		require.Equal(t, c.queries, counts["QueryWorkflow"], c.agent)
		require.Positive(t, counts["UpdateWorkflowExecution"], c.agent)
		if c.code == 0 {
			require.Contains(t, cmd.Output(), "done", c.agent)
		}
	}
	w.NothingTwice()
}
