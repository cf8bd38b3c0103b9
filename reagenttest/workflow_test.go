package reagenttest_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent"
	"github.com/reagent-dev/reagent/reagenttest"
)

// Shop is a workflow of a program. Its agent asks a person.
func Shop(ctx workflow.Context, fruit string) (string, error) {
	result, err := reagent.Run(ctx, reagent.Task{Agent: "clerk", Message: fruit})
	return "shop: " + result.Answer, err
}

func TestWorkflowOfAProgramIsTestedWithItsAgents(t *testing.T) {
	inEach(t, func(t *testing.T, with func(testing.TB, reagent.Options) *reagenttest.Agents) {
		agents := with(t, shop(reagenttest.Script(call("order", `{"name":"cherry"}`), reagenttest.Say("ordered"))))
		agents.Register(func(r worker.Registry) { r.RegisterWorkflow(Shop) })
		run := agents.Execute(Shop, "cherry")
		require.ErrorContains(t, run.Result(nil), "has not ended")
		run.Agent().Approve("order")
		var answer string
		require.NoError(t, run.Settle().Result(&answer))
		require.Equal(t, "shop: ordered", answer)
	})
}
