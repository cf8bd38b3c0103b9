package activities

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
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

	plain, err := a.define(t.Context(), a.agents["x"], agent.Overrides{})
	require.NoError(t, err)
	d, err := a.define(t.Context(), a.agents["x"], agent.Overrides{
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
	d, err = a.define(t.Context(), a.agents["x"], agent.Overrides{Model: "spare"})
	require.NoError(t, err)
	require.Equal(t, []llm.Candidate{{Name: "spare", Model: "s"}}, d.Candidates)
	require.Equal(t, []string{"main", "spare", "best"}, d.ModelChoices, "the choices stay those of the configuration")

	d, err = a.define(t.Context(), a.agents["clerk"], agent.Overrides{Tools: []string{"price"}})
	require.ErrorContains(t, err, `the agent has no tool or sub-agent "price"`)
	require.Empty(t, d.Tools)
	for wrong, o := range map[string]agent.Overrides{
		`may not use the model "other"; choose one of main, spare, best`: {Model: "other"},
		`does not allow the reasoning effort "high"`:                     {ReasoningEffort: "high"},
		`no tool or sub-agent "agents"`:                                  {Tools: []string{"stock", "agents"}},
	} {
		_, err := a.define(t.Context(), a.agents["x"], o)
		require.ErrorContains(t, err, wrong)
		require.Equal(t, 1, strings.Count(err.Error(), "overrides: "), err)
	}
}

// The overrides of a message choose among what the configuration allows, and among the tools that the agent has.
func TestOverridesOfAMessageNeverAllowMore(t *testing.T) {
	a, err := New(Options{
		Temporal: struct{ client.Client }{},
		Agents:   []Agent{{Name: "x", Model: "main", Fallback: []string{"spare"}, Choices: Choices{Models: []string{"best"}, ReasoningEfforts: []string{"low"}}}},
		Models: map[string]Model{
			"main": {Model: "m"}, "spare": {Model: "s"}, "other": {Model: "o"},
			"best": {Model: "b", Params: llm.Params{MaxOutputTokens: 7}, Price: agent.Price{Input: 1}, SendReasoning: true, TaskQueue: "slow"},
		},
	})
	require.NoError(t, err)
	own := agent.Definition{
		Name: "x", Candidates: []llm.Candidate{{Name: "main", Model: "m"}, {Name: "spare", Model: "s"}, {Name: "gone", Model: "g"}},
		Tools: []agent.Tool{{Name: "add", Ref: "notes.add"}, {Name: "drop", Ref: "notes.drop"}, {Name: "clerk", Agent: "clerk"}, {Name: "price", Ref: "price"}},
	}
	of := func(o agent.Overrides) (agent.TurnDefinition, error) {
		return a.overrideTurn(a.agents["x"], protocol.NewResolveOverridesInput(&own, agent.Overrides{ReasoningEffort: "low"}, o))
	}
	d, err := of(agent.Overrides{Model: "best", Tools: []string{"notes.*", "clerk"}, Instructions: "Be brief."})
	require.NoError(t, err)
	require.Equal(t, agent.TurnDefinition{
		Candidates: []llm.Candidate{{Name: "best", Model: "b"}, {Name: "spare", Model: "s", Params: &llm.Params{}}},
		Prices:     []agent.Price{{Input: 1}, {}}, Params: &llm.Params{MaxOutputTokens: 7, ReasoningEffort: "low"},
		TaskQueue: "slow", SendReasoning: true, Tools: []string{"add", "drop", "clerk"},
	}, d)
	d, err = of(agent.Overrides{ReasoningEffort: "low", Limits: agent.Limits{Tokens: 100}})
	require.NoError(t, err)
	require.Equal(t, agent.TurnDefinition{}, d)
	for wrong, o := range map[string]agent.Overrides{
		`may not use the model "other"; choose one of main, spare, best`: {Model: "other"},
		`does not allow the reasoning effort "high"`:                     {ReasoningEffort: "high"},
		`no tool or sub-agent "stock"`:                                   {Tools: []string{"price", "stock"}},
		`development mode`:                                               {WholeInstructions: "Be wild."},
		`limit Cost is set, but no model`:                                {Limits: agent.Limits{Cost: agent.Dollars(1)}},
	} {
		_, err := of(o)
		require.ErrorContains(t, err, wrong)
		require.NotContains(t, err.Error(), "overrides", "the reply to the message says that already")
	}
}
