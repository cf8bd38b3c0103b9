package agent_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
)

// A call runs without an approval only if the reply records that the rule which the tool has now does not ask. A permission of a person,
// and the limit of the wait, hold as for a tool that always asks.
func TestCallRunsFreeOnlyByTheRuleOfItsTool(t *testing.T) {
	s := agent.New("a", agent.Start{Agent: "x", Incarnation: "l", Message: &agent.QueuedMessage{ID: "m1", Text: "pay"}}, 0)
	require.True(t, s.Apply(agent.DefinitionLoaded{Key: s.Next().(agent.Load).Key, Definition: agent.Definition{
		Name: "x", Candidates: []llm.Candidate{{Name: "main", Model: "m"}},
		Tools: []agent.Tool{{Name: "pay", ApprovalRule: "if new", ApprovalMS: 7}, {Name: "always", Approval: true}, {Name: "never"}},
	}}))
	s.Advance(0)
	reply := func(free ...agent.FreeCall) (waits []string) {
		calls := []llm.ToolCall{
			{ID: "0", Name: "pay", Arguments: `{"n":0}`}, {ID: "1", Name: "pay", Arguments: `{"n":1}`}, {ID: "2", Name: "pay", Arguments: `{"n":2}`},
			{ID: "3", Name: "always"}, {ID: "4", Name: "never"},
		}
		require.True(t, s.Apply(agent.ModelReplied{Key: s.Next().(agent.CallModel).Key, Free: free, Reply: llm.Reply{Message: llm.Message{ToolCalls: calls}}}))
		for _, c := range s.Pending() {
			if c.WaitsFor() == agent.WaitsForApproval {
				waits = append(waits, c.CallID)
			}
		}
		return waits
	}
	require.Equal(t, []string{"0", "2", "3"}, reply(
		agent.FreeCall{Position: 0, Rule: "if old"}, agent.FreeCall{Position: 1, Rule: "if new"}, agent.FreeCall{Position: 3, Rule: "if new"}))
	require.Equal(t, int64(7), s.WaitDeadline())
	for _, c := range s.Pending() {
		if c.Wait.For != "" {
			require.True(t, s.Apply(agent.Decided{Decision: agent.Decision{Key: c.Key, Approve: true, Remember: agent.RememberTool}}))
		}
	}
	for _, c := range s.Pending() {
		require.True(t, s.Apply(agent.ToolFinished{Key: c.Key, Result: agent.Result{Content: "done"}}))
	}
	require.Empty(t, reply(), "the person has permitted the later calls")
}
