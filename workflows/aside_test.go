package workflows_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// Questions aside that are asked at the same time pass a limit by one answer together, and not by one answer each. The same question
// costs nothing more. Without a limit, all are answered.
func TestQuestionsAsideTogetherKeepTheLimit(t *testing.T) {
	for name, c := range map[string]struct {
		limits   agent.Limits
		accepted int
	}{
		"cost":     {agent.Limits{ModelCalls: 10, Cost: agent.Dollar}, 2},
		"tokens":   {agent.Limits{ModelCalls: 10, Tokens: 1000}, 2},
		"no limit": {agent.Limits{ModelCalls: 10}, 10},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.def.Limits = c.limits
			b.def.Prices = []agent.Price{{Output: agent.Dollars(7.5) / 1_000_000}}
			b.model = func(count int) (llm.Reply, error) {
				reply := llmtest.Say("one")
				if count > 1 {
					reply.Usage.OutputTokens = 1_000_000
				}
				return reply, nil
			}
			accepted, late := 0, ""
			ask := func(id, question string) {
				b.UpdateWorkflow(protocol.AsideUpdate, id, &testsuite.TestUpdateCallback{
					OnAccept: func() { accepted++ }, OnReject: func(err error) { late = err.Error() }, OnComplete: func(any, error) {},
				}, agent.Aside{Run: testRun, Question: question})
			}
			b.RegisterDelayedCallback(func() {
				for i := range 8 {
					ask(fmt.Sprint(i), fmt.Sprint("question ", i))
				}
				ask("again", "question 0")
			}, time.Hour)
			b.RegisterDelayedCallback(func() { ask("later", "question 9") }, 2*time.Hour)
			b.RegisterDelayedCallback(func() { b.UpdateWorkflowNoRejection(protocol.CloseUpdate, "close", t) }, 3*time.Hour)
			b.start(agent.Chat, "go")
			var result protocol.Result
			require.NoError(t, b.GetWorkflowResult(&result))
			require.Equal(t, c.accepted, accepted)
			if c.limits.Cost > 0 || c.limits.Tokens > 0 {
				require.Contains(t, late, "this agent reached its limit of", "what the first answer cost counts for the next question")
				require.Equal(t, 1, result.Usage.Asides)
				require.Less(t, result.Spent.Cost, agent.Dollars(8), "one answer, and not eight")
			}
		})
	}
}
