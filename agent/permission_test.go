package agent_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
)

// After a reset, a denial may come before its call. It holds, even if a permission would let the call run.
func TestDenialComesBeforeAPermission(t *testing.T) {
	s := agent.New("a", agent.Start{Agent: "x", Incarnation: "l", Mode: agent.Chat, Message: &agent.QueuedMessage{ID: "m1", Text: "pay"}}, 0)
	pays := func(id string) agent.ModelReplied {
		calls := []llm.ToolCall{{ID: id, Name: "pay", Arguments: "{}"}}
		return agent.ModelReplied{Key: s.Next().(agent.CallModel).Key, Reply: llm.Reply{Message: llm.Message{ToolCalls: calls}}}
	}
	require.True(t, s.Apply(agent.DefinitionLoaded{Key: s.Next().(agent.Load).Key, Definition: agent.Definition{
		Name: "x", Candidates: []llm.Candidate{{Name: "main", Model: "m"}}, Tools: []agent.Tool{{Name: "pay", Approval: true}},
	}}))
	s.Advance(0)
	require.True(t, s.Apply(pays("c1")))
	first := s.Pending()[0].Key
	require.True(t, s.Apply(agent.Decided{Decision: agent.Decision{Key: first, Approve: true, Remember: agent.RememberTool}}))
	require.True(t, s.Apply(agent.ToolFinished{Key: first, Result: agent.Result{Content: "paid"}}))

	reply := pays("c2")
	then := clone(s)
	require.True(t, then.Apply(reply))
	second := then.Pending()[0]
	require.False(t, second.Waits())
	require.True(t, second.Decider.Remembered)
	require.True(t, s.Apply(agent.Decided{Decision: agent.Decision{Key: second.Key, Reason: "enough"}}))
	require.True(t, s.Apply(reply))
	require.Empty(t, s.Pending())
	require.Equal(t, "denied: a person refused this call: enough", s.Messages[len(s.Messages)-1].Content)
}

// After a reset, a revocation may come before the decision that it takes back. It holds, however many others have come since.
func TestRevocationHoldsHoweverManyFollow(t *testing.T) {
	s := guarded("a", "l")
	calls(t, s, "pay", `{"n":1}`)
	first := s.Pending()[0].Key
	require.True(t, s.Apply(agent.PermissionRevoked{Key: first}))
	for i := range 2000 {
		s.Apply(agent.PermissionRevoked{Key: agent.Key(fmt.Sprintf("tool-%032d", i))})
	}
	require.LessOrEqual(t, len(s.Revoked), 1000)
	require.True(t, s.Apply(agent.Decided{Decision: agent.Decision{Key: first, Approve: true, Remember: agent.RememberTool}}))
	require.True(t, s.Apply(agent.ToolFinished{Key: first, Result: agent.Result{Content: "paid"}}))
	calls(t, s, "pay", `{"n":2}`)
	require.Equal(t, agent.WaitsForApproval, s.Pending()[0].Wait.For)
}
