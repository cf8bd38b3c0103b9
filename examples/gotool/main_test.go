package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent"
	"github.com/reagent-dev/reagent/reagenttest"
)

// The worker dies when the order is made. The call runs again, and the book recognises it by its key.
func TestOrderIsMadeOnceThoughItsWorkerCrashes(t *testing.T) {
	model := reagenttest.Script(
		reagenttest.Call(reagenttest.ToolCall("1", "order", `{"name":"cherry","kilos":2}`)),
		reagenttest.Say("Ordered."),
	)
	agents := reagenttest.OnServer(t, reagent.Options{Models: reagenttest.Models(model), Agents: []reagent.Agent{clerk}, Tools: tools()})
	agents.Crash(reagenttest.AfterTool("order"))
	run := agents.Run("clerk", "Two kilos of cherries, please").WantAnswer("Ordered.")
	require.Len(t, agents.Effects("order"), 2)
	require.Equal(t, "order 1: 2 kg of cherry", run.Calls()[0].Result)
}
