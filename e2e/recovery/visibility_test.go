package recovery_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/app/devserver"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// Temporal's list of runs may not have the newest runs yet. After a reset, nothing that such a run did is done again.
// The run may be the one that was reset, or another run that a reset of the same run started.
func TestRunsThatAreNotListedYetAreFound(t *testing.T) {
	t.Parallel()
	own, err := devserver.Start(t.Context(), devserver.Options{DynamicConfig: map[string]string{
		"history.visibilityProcessorMaxPollRPS": "1",
	}})
	require.NoError(t, err)
	t.Cleanup(own.Stop)

	var g atomic.Pointer[world.Gate]
	tools := world.NewToolServer(t)
	tools.Add("pay", nil, world.Echo)
	work := world.Script(llmtest.Call(llmtest.ToolCall("1", "pay", `{}`)), llmtest.Say("paid"))
	w := world.New(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		if world.Asked(req) == 0 {
			if err := g.Load().Pass(ctx); err != nil {
				return llm.Reply{}, err
			}
		}
		return work(ctx, req)
	}, tools, "")
	w.MoveTo(own)
	worker := w.Worker()
	for _, which := range []string{"child", "sibling"} {
		g.Store(world.NewGate())
		id := t.Name() + which
		w.Must("run", "--detach", "--id", id, "pay "+which)
		g.Load().Wait(t)
		first := w.RunID(id)
		w.Reset(id, "", 1) // the first run waits for its first model call
		close(g.Load().Open)
		w.Finished(id, "paid") // the second run has made all calls
		from := ""
		if which == "sibling" {
			from = first
		}
		worker.Kill() // its memory has the results
		worker = w.Worker()
		w.Reset(id, from, 1)
		w.Finished(id, "paid")
	}
	require.Equal(t, []int{1, 1}, world.Values(tools.Effects()))
	require.Equal(t, []int{1, 1, 1, 1}, world.Values(w.Requests()))
}
