package activities

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/reagent-dev/reagent/agent"
)

// In development, overrides may choose every model of the worker, and replace the instructions. Otherwise they are refused. Activities with
// another configuration leave the earlier ones as they are.
func TestDevelopmentAllowsMore(t *testing.T) {
	options := Options{
		Temporal: struct{ client.Client }{},
		Agents:   []Agent{{Name: "x", Model: "main", Instructions: "Be brief."}},
		Models:   map[string]Model{"main": {Model: "m"}, "best": {Model: "b"}},
	}
	production, err := New(options)
	require.NoError(t, err)
	options.Development = true
	development, err := production.With(options)
	require.NoError(t, err)
	load := func(a *Activities, o agent.Overrides) (agent.Definition, error) {
		return a.define(t.Context(), a.agents["x"], o)
	}
	for wrong, o := range map[string]agent.Overrides{
		"only by a worker in development mode": {WholeInstructions: "Be long."}, `may not use the model "best"`: {Model: "best"},
		`does not allow the reasoning effort "low"`: {ReasoningEffort: "low"},
	} {
		_, err := load(production, o)
		require.ErrorContains(t, err, wrong)
		_, err = load(development, o)
		require.NoError(t, err)
	}
	d, err := load(development, agent.Overrides{WholeInstructions: "Be long.", Instructions: "Be kind.", Model: "best", ReasoningEffort: "low"})
	require.NoError(t, err)
	require.Equal(t, []string{"Be long.\n\nBe kind.", "b", "low"}, []string{d.Instructions, d.Candidates[0].Model, d.Params.ReasoningEffort})
	_, err = load(development, agent.Overrides{Model: "none"})
	require.ErrorContains(t, err, "choose one of best, main")

	options.Agents = []Agent{{Name: "y", Model: "none"}}
	_, err = production.With(options)
	require.ErrorContains(t, err, `there is no model "none"`)
	d, err = load(production, agent.Overrides{})
	require.NoError(t, err)
	require.Equal(t, "Be brief.", d.Instructions)
}
