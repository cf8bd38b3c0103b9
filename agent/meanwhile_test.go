package agent_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
)

// A person approves a call during the search of other runs, which know nothing of it. A call that then has its result at once, without any
// work, gets it, and the agent goes on.
func TestCallThatIsApprovedDuringTheSearchGetsItsResult(t *testing.T) {
	for name, tool := range map[string]agent.Tool{
		"works in the background":     {Name: "scout", Agent: "scout", Background: true, Approval: true},
		"there is no budget for it":   {Name: "scout", Agent: "scout", Approval: true},
		"its question is no question": {Name: agent.AskUser, Effect: agent.EffectExternal, Approval: true},
	} {
		t.Run(name, func(t *testing.T) {
			limits := agent.Limits{Depth: 1}
			if !tool.Background {
				limits.Tokens = 100
			}
			s := chat()
			s.Apply(agent.DefinitionLoaded{Key: s.Next().(agent.Load).Key, Definition: agent.Definition{
				Name: "x", Candidates: []llm.Candidate{{Name: "main", Model: "m"}}, Limits: limits, Tools: []agent.Tool{tool},
			}})
			s.Advance(0)
			s.Apply(agent.Rewound{Run: "second"})
			s.Apply(agent.MessagesFound{Run: "second"})
			reply := llm.Reply{Message: llm.Message{ToolCalls: []llm.ToolCall{{ID: "c1", Name: tool.Name, Arguments: `{"task":"look"}`}}}, Usage: llm.Usage{InputTokens: 60}}
			require.True(t, s.Apply(agent.ModelReplied{Key: s.Next().(agent.CallModel).Key, Reply: reply}))
			call := s.Pending()[0]
			require.True(t, call.Search)
			require.True(t, s.Apply(agent.Decided{Decision: agent.Decision{Key: call.Key, Approve: true}}))
			require.True(t, s.Apply(agent.CallFound{Key: call.Key}))
			require.Empty(t, s.Pending(), "nothing would ever happen to the call")
		})
	}
}
