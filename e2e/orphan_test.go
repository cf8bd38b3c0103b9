package e2e_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// dynasty has an agent x that asks y, which asks z, whose model stands at the gate. It returns their IDs,
// from above to below.
func dynasty(t *testing.T, g *gate) (w *world, ids []string) {
	w = newWorld(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		switch {
		case len(req.Tools) == 0:
			return llmtest.Say("done"), g.pass(ctx)
		case asked(req) == 0:
			return llmtest.Call(llmtest.ToolCall("1", req.Tools[0].Name, `{"task":"go on"}`)), nil
		}
		return llmtest.Say("all done"), nil
	}, nil, "    agents: [y]\n  y:\n    model: main\n    agents: [z]\n  z:\n    model: main\n")
	w.worker()
	w.must("run", "--detach", "-a", "x", "--id", t.Name(), "go")
	g.wait(t)
	for id := t.Name(); id != ""; {
		ids = append(ids, id)
		children := w.show(id).Children
		if id = ""; len(children) > 0 {
			id = children[0].ID
		}
	}
	require.Len(t, ids, 3)
	w.eventually("the list has the tree", func() bool { return len(w.listed()) == 3 })
	return w, ids
}

// listed are the IDs that a list has, among those of this test.
func (w *world) listed(args ...string) (ids []string) {
	var entries []listed
	require.NoError(w.t, json.Unmarshal([]byte(w.must(append([]string{"list", "--json", "--limit", "0"}, args...)...)), &entries))
	for _, e := range entries {
		if strings.HasPrefix(e.ID, w.t.Name()) {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

func (w *world) terminateAgent(id string) {
	require.NoError(w.t, w.temporal.TerminateWorkflow(w.t.Context(), id, "", "test"))
}

func (w *world) ends(id, status string) {
	w.t.Helper()
	w.eventually(id+" is "+status, func() bool { return w.show(id).Status == status })
}

// A cancel reaches those that run below an agent that has ended, and what runs below one of those that has.
func TestCancelOfAnAgentThatHasEndedReachesTheTreeBelow(t *testing.T) {
	g := newGate()
	w, ids := dynasty(t, g)
	w.terminateAgent(ids[0])
	_, errs, code := w.starter("cancel", ids[0])
	require.Zero(t, code, errs)
	require.Equal(t, "Cancelling agent "+ids[1]+"\nCancelling agent "+ids[2]+"\n", errs)
	w.ends(ids[1], "cancelled")
	w.ends(ids[2], "cancelled")
	require.Equal(t, "terminated", w.show(ids[0]).Status)
	require.Len(t, w.requests(), 3, "nobody goes on from the end of a sub-agent")

	_, errs, code = w.starter("cancel", ids[0])
	require.Equal(t, 4, code)
	require.Contains(t, errs, "the agent has ended: terminated")
}

// The one in the middle has ended, and those above and below it run: all that run are cancelled.
func TestCancelGoesPastAnAgentThatHasEnded(t *testing.T) {
	g := newGate()
	w, ids := dynasty(t, g)
	w.terminateAgent(ids[1])
	w.eventually("the one above has answered", func() bool { return w.show(ids[0]).Status == "completed" })
	cancelled, err := w.client.Cancel(t.Context(), ids[0])
	require.NoError(t, err)
	require.Equal(t, ids[2:], cancelled)
	w.ends(ids[2], "cancelled")
}

// Those that nobody waits for are told apart from those whose parent runs, or runs again.
func TestOrphansAreListed(t *testing.T) {
	g := newGate()
	w, ids := dynasty(t, g)
	require.Empty(t, w.listed("--orphans"))

	w.terminateAgent(ids[1])
	w.ends(ids[0], "completed")
	require.Equal(t, ids[2:], w.listed("--orphans"))
	require.Equal(t, ids[2:], w.listed("--orphans", "--agent", "z", "--running"))
	require.Empty(t, w.listed("--orphans", "--agent", "y"))
	require.Empty(t, w.listed("--orphans", "--failed"), "an orphan runs")
	require.Contains(t, w.must("list", "--orphans"), ids[2])

	w.must("resume", "--detach", ids[1])
	require.Empty(t, w.listed("--orphans"), "its parent waits for it again")
	close(g.open)
	w.ends(ids[1], "completed")
	require.Equal(t, "completed", w.show(ids[2]).Status)
}
