package activities

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/tool"
)

// Overrides choose among what the configuration allows, add instructions, leave tools out and lower limits. They never allow more, and a
// reload keeps them.
func TestOverridesNeverAllowMore(t *testing.T) {
	tools := new(tool.Registry)
	for _, name := range []string{"price", "stock"} {
		read, err := tool.Func(name, "Reads.", tool.ReadOnly, func(context.Context, struct{}) (string, error) { return "", nil })
		require.NoError(t, err)
		require.NoError(t, tools.Add(read))
	}
	a, err := New(Options{
		Temporal: struct{ client.Client }{},
		Agents: []Agent{
			{
				Name: "x", Model: "main", Fallback: []string{"spare"}, Choices: Choices{Models: []string{"best"}, ReasoningEfforts: []string{"low"}},
				Instructions: "Be brief.", Tools: []string{"price", "stock"}, Agents: []string{"clerk", "scout"}, Background: []string{"scout"},
				Limits: agent.Limits{Tokens: 1000, Cost: agent.Dollars(1)},
			},
			{Name: "clerk", Model: "main"}, {Name: "scout", Model: "main"},
		},
		Models: map[string]Model{
			"main": {Model: "m", Params: llm.Params{ReasoningEffort: "high"}, Price: agent.Price{Input: 1}}, "spare": {Model: "s"}, "best": {Model: "b"}, "other": {Model: "o"},
		},
		Tools: tools,
	})
	require.NoError(t, err)
	names := func(d agent.Definition) (names []string) {
		for _, tool := range d.Tools {
			names = append(names, tool.Name)
		}
		return names
	}

	plain, err := a.define(t.Context(), "x", agent.Overrides{})
	require.NoError(t, err)
	d, err := a.define(t.Context(), "x", agent.Overrides{
		Model: "main", ReasoningEffort: "low", Instructions: "Answer in French.", Tools: []string{"stock", "scout"},
		Limits: agent.Limits{Tokens: 100, ModelCalls: 9999, Time: time.Minute},
	})
	require.NoError(t, err)
	require.Equal(t, "Be brief.\n\nAnswer in French.", d.Instructions)
	require.Equal(t, "low", d.Params.ReasoningEffort)
	require.Equal(t, []string{"agents", "scout", "stock"}, names(d))
	require.Equal(t, []int{100, agent.DefaultModelCalls}, []int{d.Limits.Tokens, d.Limits.ModelCalls})
	require.Equal(t, []any{time.Minute, agent.Dollars(1)}, []any{d.Limits.Time, d.Limits.Cost})
	require.Equal(t, []string{"agents", "clerk", "price", "scout", "stock"}, names(plain))
	d, err = a.define(t.Context(), "x", agent.Overrides{Model: "spare"})
	require.NoError(t, err)
	require.Equal(t, []llm.Candidate{{Name: "spare", Model: "s"}}, d.Candidates)

	d, err = a.define(t.Context(), "clerk", agent.Overrides{Tools: []string{"price"}})
	require.ErrorContains(t, err, `the agent has no tool or sub-agent "price"`)
	require.Empty(t, d.Tools)
	for wrong, o := range map[string]agent.Overrides{
		`may not use the model "other"; choose one of main, spare, best`: {Model: "other"},
		`does not allow the reasoning effort "high"`:                     {ReasoningEffort: "high"},
		`no tool or sub-agent "agents"`:                                  {Tools: []string{"stock", "agents"}},
	} {
		_, err := a.define(t.Context(), "x", o)
		require.ErrorContains(t, err, wrong)
	}
}
