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

// dynasty has an agent x that asks y, which asks z, whose model stands at the gate. It returns their IDs,
// from above to below.
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

// A cancel reaches those that run below an agent that has ended, and what runs below one of those that has.
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

// The one in the middle has ended, and those above and below it run: all that run are cancelled.
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

// Those that nobody waits for are told apart from those whose parent runs, or runs again.
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

// A cancel comes before some of the sub-agents that the model asked for are started. There is nothing to show of those.
func TestSubAgentThatWasNeverStartedIsNotShown(t *testing.T) {
	t.Parallel()
	w := world.New(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		if req.Messages[0].Content == "You count." {
			<-ctx.Done() // it is cancelled
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
