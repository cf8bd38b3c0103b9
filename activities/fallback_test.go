package activities

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
)

// The definition has the parameters of each fallback that has other ones than the first model. So a request to it has its own, and the
// schema of the agent. A definition whose models have the same parameters is as it was without this.
func TestFallbackGetsItsOwnParameters(t *testing.T) {
	hot := 0.7
	main := llm.Params{Temperature: &hot, ReasoningEffort: "high"}
	same := 0.7
	a, err := New(Options{
		Temporal: struct{ client.Client }{},
		Agents:   []Agent{{Name: "a", Model: "main", Fallback: []string{"spare", "plain", "same"}, OutputSchema: json.RawMessage(`{"type":"object"}`)}},
		Models: map[string]Model{
			"main": {Model: "m", Params: main}, "spare": {Model: "s", Params: llm.Params{MaxOutputTokens: 9}}, "plain": {Model: "p"},
			"same": {Model: "e", Params: llm.Params{Temperature: &same, ReasoningEffort: "high"}},
		},
	})
	require.NoError(t, err)
	d, err := a.define(t.Context(), a.agents["a"], agent.Overrides{})
	require.NoError(t, err)

	require.Equal(t, []llm.Candidate{
		{Name: "main", Model: "m"}, {Name: "spare", Model: "s", Params: &llm.Params{MaxOutputTokens: 9}},
		{Name: "plain", Model: "p", Params: &llm.Params{}}, {Name: "same", Model: "e"},
	}, d.Candidates)

	encoded, err := json.Marshal(d)
	require.NoError(t, err)
	var stored agent.Definition
	require.NoError(t, json.Unmarshal(encoded, &stored))
	require.Equal(t, &llm.Params{}, stored.Candidates[2].Params, "no parameters are not those of the first model")
	require.Equal(t, 9, stored.RequestPrefix().To(stored.Candidates[1]).Params.MaxOutputTokens)
	require.JSONEq(t, `{"type":"object"}`, string(stored.RequestPrefix().To(stored.Candidates[1]).Params.OutputSchema))
}
