package children_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// dynasty starts the agent x, which asks its sub-agent y, which asks its sub-agent z. It returns when the model call of
// z waits at the gate g and Temporal lists all three agents. The result ids has the IDs of x, y and z, in this order.
func dynasty(t *testing.T, g *world.Gate) (w *world.World, ids []string) {
	w = world.New(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		switch {
		case len(req.Tools) == 0:
			return llmtest.Say("done"), g.Pass(ctx)
		case world.Asked(req) == 0:
			return llmtest.Call(llmtest.ToolCall("1", req.Tools[0].Name, `{"task":"go on"}`)), nil
		}
		return llmtest.Say("all done"), nil
	}, nil, "    agents: [y]\n  y:\n    model: main\n    agents: [z]\n  z:\n    model: main\n")
	w.Worker()
	w.Must("run", "--detach", "-a", "x", "--id", t.Name(), "go")
	g.Wait(t)
	for id := t.Name(); id != ""; {
		ids = append(ids, id)
		children := w.Show(id).Children
		if id = ""; len(children) > 0 {
			id = children[0].ID
		}
	}
	require.Len(t, ids, 3)
	w.Eventually("the list has the tree", func() bool { return len(w.Listed()) == 3 })
	return w, ids
}

// A cancel of an agent that has ended cancels all running agents below it. If no agent below it is running, the command
// reports that the agent has ended.
func TestCancelOfAnAgentThatHasEndedReachesTheTreeBelow(t *testing.T) {
	g := world.NewGate()
	w, ids := dynasty(t, g)
	w.TerminateAgent(ids[0])
	_, errs, code := w.Starter("cancel", ids[0])
	require.Zero(t, code, errs)
	require.Equal(t, "Cancelling agent "+ids[1]+"\nCancelling agent "+ids[2]+"\n", errs)
	w.Ends(ids[1], "cancelled")
	w.Ends(ids[2], "cancelled")
	require.Equal(t, "terminated", w.Show(ids[0]).Status)
	require.Len(t, w.Requests(), 3, "nobody goes on from the end of a sub-agent")

	_, errs, code = w.Starter("cancel", ids[0])
	require.Equal(t, 4, code)
	require.Contains(t, errs, "the agent has ended: terminated")
}

// A cancel also reaches a running agent whose parent has ended.
func TestCancelGoesPastAnAgentThatHasEnded(t *testing.T) {
	g := world.NewGate()
	w, ids := dynasty(t, g)
	w.TerminateAgent(ids[1])
	w.Eventually("the one above has answered", func() bool { return w.Show(ids[0]).Status == "completed" })
	cancelled, err := w.Client.Cancel(t.Context(), ids[0])
	require.NoError(t, err)
	require.Equal(t, ids[2:], cancelled)
	w.Ends(ids[2], "cancelled")
}

// `starter list --orphans` lists the running sub-agents whose parent has ended. When the parent is resumed, its
// sub-agent is no longer listed.
func TestOrphansAreListed(t *testing.T) {
	g := world.NewGate()
	w, ids := dynasty(t, g)
	require.Empty(t, w.Listed("--orphans"))

	w.TerminateAgent(ids[1])
	w.Ends(ids[0], "completed")
	require.Equal(t, ids[2:], w.Listed("--orphans"))
	require.Equal(t, ids[2:], w.Listed("--orphans", "--agent", "z", "--running"))
	require.Empty(t, w.Listed("--orphans", "--agent", "y"))
	require.Empty(t, w.Listed("--orphans", "--failed"), "an orphan runs")
	require.Contains(t, w.Must("list", "--orphans"), ids[2])

	w.Must("resume", "--detach", ids[1])
	require.Empty(t, w.Listed("--orphans"), "its parent waits for it again")
	close(g.Open)
	w.Ends(ids[1], "completed")
	require.Equal(t, "completed", w.Show(ids[2]).Status)
}

// A reply may ask for more sub-agents than are started at the same time. If the agent is cancelled then, only the
// sub-agents that were started are shown.
func TestSubAgentThatWasNeverStartedIsNotShown(t *testing.T) {
	t.Parallel()
	w := world.New(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		if req.Messages[0].Content == "You count." {
			<-ctx.Done() // until the sub-agent is cancelled
			return llm.Reply{}, ctx.Err()
		}
		var batch []llm.ToolCall
		for n := range agent.CallsAtOnce + 3 {
			batch = append(batch, llmtest.ToolCall(fmt.Sprint(n), "clerk", fmt.Sprintf(`{"task":"count %d"}`, n)))
		}
		return llmtest.Call(batch...), nil
	}, nil, "    agents: [clerk]\n  clerk:\n    model: main\n    description: counts\n    instructions: You count.\n")
	w.Worker()
	id := t.Name()
	w.Must("run", "--detach", "-a", "x", "--id", id, "count")
	w.Eventually("as many sub-agents run as may", func() bool { return len(w.Requests()) == 1+agent.CallsAtOnce })
	require.Len(t, w.Show(id).Children, agent.CallsAtOnce)
	w.Must("cancel", id)
	w.Eventually("it is cancelled", func() bool { return w.Show(id).Status == "cancelled" })
	for _, child := range w.Show(id).Children {
		w.Eventually(child.ID+" is cancelled", func() bool { return w.Show(child.ID).Status == "cancelled" })
	}
	require.Len(t, w.Show(id).Children, agent.CallsAtOnce)
}
