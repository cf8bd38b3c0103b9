package client

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
)

// The reply to a message has the model and the cost of its own turn, also if the agent works on a later message or a limit ended the turn.
func TestReplyHasTheModelAndTheCostOfItsTurn(t *testing.T) {
	says := func(model string, cost agent.Money, calls ...llm.ToolCall) agent.Message {
		return agent.Message{Message: llm.Message{Role: llm.Assistant, ToolCalls: calls}, Model: model, Spent: agent.Spending{Cost: cost}}
	}
	of := func(id string) agent.Message {
		return agent.Message{Message: llm.Message{Role: llm.User}, Key: agent.Key(id)}
	}
	transcript := []agent.Message{of("one"), says("a", 1), of("two"), says("b", 0, llm.ToolCall{}), says("", 2), of("three"), says("c", 3)}
	for id, want := range map[string]agent.TurnUse{
		"one": {Model: "a", Spending: agent.Spending{Cost: 1}}, "two": {Model: "b", Spending: agent.Spending{Cost: 2}},
		"three": {Model: "c", Spending: agent.Spending{Cost: 3}}, "four": {},
	} {
		found := answerTo{message: id}
		for _, m := range transcript {
			found.read(m, nil)
		}
		require.Equal(t, want, found.use, id)
	}
}
