package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/activities"
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// An agent that the worker does not have is looked up, and is checked like one of its own.
func TestAgentIsLookedUp(t *testing.T) {
	found := map[string]activities.Agent{
		"acme":     {Instructions: "You work for Acme."},
		"renamed":  {Name: "x"},
		"no-model": {Model: "gone"},
		"negative": {Limits: agent.Limits{Tokens: -1}},
		"function": {NeedsApproval: func(string, json.RawMessage) (bool, error) { return true, nil }},
		"no-tool":  {Tools: []string{"gone"}},
	}
	asked := map[string]bool{}
	s := newStageWith(t, llmtest.Script(), func(o *activities.Options) {
		o.Lookup = func(ctx context.Context, name string) (activities.Agent, bool, error) {
			asked[name] = true
			_, bounded := ctx.Deadline()
			require.True(t, bounded)
			switch name {
			case "down":
				return activities.Agent{}, false, errors.New("the database does not answer")
			case "deleted":
				return activities.Agent{}, false, fmt.Errorf("customer 7: %w", activities.ErrNoAgent)
			}
			conf, ok := found[name]
			return conf, ok, nil
		}
	})
	load := func(name string) (d agent.Definition, err error) {
		value, err := s.ExecuteActivity(protocol.LoadAgent, protocol.LoadAgentInput{Agent: name, Overrides: agent.Overrides{Instructions: "Be brief."}})
		if err == nil {
			err = value.Get(&d)
		}
		return d, err
	}
	d, err := load("acme")
	require.NoError(t, err)
	require.Equal(t, "acme", d.Name)
	require.Equal(t, "You work for Acme.\n\nBe brief.", d.Instructions)
	require.Equal(t, "main", d.Candidates[0].Name)
	_, _ = load("x")
	require.NotContains(t, asked, "x", "the options have this agent")
	for name, want := range map[string]struct {
		class string
		final bool
		text  string
	}{
		"renamed":  {protocol.BadAgent, true, `agent renamed: Lookup has returned the agent "x"`},
		"no-model": {protocol.BadAgent, true, `agent no-model: there is no model "gone"`},
		"negative": {protocol.BadAgent, true, `agent negative: limit Tokens is -1`},
		"function": {protocol.BadAgent, true, `agent function: NeedsApproval is only for agents in Options.Agents`},
		"no-tool":  {protocol.BadAgent, true, `agents.no-tool.tools[0]`},
		"nobody":   {protocol.UnknownAgent, false, `there is no agent "nobody" on this worker, which serves x, y, and Lookup does not find it; correct the name, let Lookup return`},
		"deleted":  {protocol.UnknownAgent, true, `there is no agent "deleted"`},
		"down":     {protocol.Unavailable, false, `look up the agent "down": the database does not answer`},
	} {
		_, err := load(name)
		var failure *temporal.ApplicationError
		require.ErrorAs(t, err, &failure, name)
		require.Equal(t, want.class, failure.Type(), name)
		require.Equal(t, want.final, failure.NonRetryable(), name)
		require.ErrorContains(t, err, want.text)
	}
}

// A worker whose agents are all looked up waits for no other worker: Lookup is asked again only after an error.
func TestAgentThatLookupDoesNotFindFailsAtOnce(t *testing.T) {
	for name, final := range map[string]bool{"nobody": true, "down": false} {
		t.Run(name, func(t *testing.T) {
			s := newStageWith(t, llmtest.Script(), func(o *activities.Options) {
				o.Agents, o.RolloutTimeout = nil, -1
				o.Lookup = func(_ context.Context, name string) (activities.Agent, bool, error) {
					if name == "down" {
						return activities.Agent{}, false, errors.New("the database does not answer")
					}
					return activities.Agent{}, false, nil
				}
				if final {
					o.RolloutTimeout = 0
				}
			})
			_, err := s.ExecuteActivity(protocol.LoadAgent, protocol.LoadAgentInput{Agent: name})
			require.Equal(t, final, failure(t, err).NonRetryable())
			if final {
				require.Equal(t, protocol.UnknownAgent, failure(t, err).Type())
				require.Equal(t, `there is no agent "nobody": Lookup of the worker does not find it; correct the name, or let Lookup return the agent`, failure(t, err).Message())
			}
		})
	}
}
