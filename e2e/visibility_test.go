package e2e_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/devserver"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// Temporal's list of runs lags behind where a cluster is busy. What a run did that is not listed yet is not
// done again, neither by a run that was reset from it nor by one that was reset from the same run as it.
func TestRunsThatAreNotListedYetAreFound(t *testing.T) {
	t.Parallel()
	own, err := devserver.Start(t.Context(), devserver.Options{DynamicConfig: map[string]string{
		"history.visibilityProcessorMaxPollRPS": "1",
	}})
	require.NoError(t, err)
	t.Cleanup(own.Stop)

	var g atomic.Pointer[gate]
	tools := newToolServer(t)
	tools.add("pay", nil, echo)
	work := script(llmtest.Call(llmtest.ToolCall("1", "pay", `{}`)), llmtest.Say("paid"))
	w := newWorld(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		if asked(req) == 0 {
			if err := g.Load().pass(ctx); err != nil {
				return llm.Reply{}, err
			}
		}
		return work(ctx, req)
	}, tools, "")
	w.moveTo(own)
	worker := w.worker()
	for _, which := range []string{"child", "sibling"} {
		g.Store(newGate())
		id := t.Name() + which
		w.must("run", "--detach", "--id", id, "pay "+which)
		g.Load().wait(t)
		first := w.runID(id)
		w.reset(id, "", 1) // nothing has been done
		close(g.Load().open)
		w.finished(id, "paid") // all has been done, by the second run
		from := ""
		if which == "sibling" {
			from = first
		}
		worker.kill() // it keeps the results
		worker = w.worker()
		w.reset(id, from, 1)
		w.finished(id, "paid")
	}
	require.Equal(t, []int{1, 1}, values(tools.effects()))
	require.Equal(t, []int{1, 1, 1, 1}, values(w.requests()))
}
