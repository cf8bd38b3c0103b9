package agent_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
)

// Repeated attempts are counted beside the usage. A lost attempt had the same request as the reply, and so the same
// number of input tokens.
func TestRepeatedAttemptsAreCounted(t *testing.T) {
	s := tree(agent.Limits{})
	s.Apply(agent.ModelReplied{
		Key:     s.Next().(agent.CallModel).Key,
		Repeats: agent.Repeats{Attempts: 3, Lost: 2},
		Reply:   llm.Reply{Message: llm.Message{Content: "done"}, Usage: llm.Usage{InputTokens: 100, OutputTokens: 10}},
	})
	require.Equal(t, agent.Repeats{Attempts: 3, Lost: 2, LostInputTokens: 200}, s.Usage.Repeats)
	require.Equal(t, 100, s.Usage.InputTokens)

	encoded, err := json.Marshal(agent.Usage{})
	require.NoError(t, err)
	require.NotContains(t, string(encoded), "repeats")
}
