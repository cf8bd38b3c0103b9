package activities_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/activities"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/internal/redact"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
	"github.com/reagent-dev/reagent/tool"
)

// If a check of an answer against the output schema would never end, no model call is made, and the turn is held.
func TestAttackOutputSchemaWithoutEndIsNotAsked(t *testing.T) {
	endless := json.RawMessage(`{"type":"object","$ref":"#"}`)
	s := newStage(t, llmtest.Script(llmtest.Say("{}")))
	s.workflow.head.Params.OutputSchema = endless
	s.say(llm.User, "hello")
	_, err := s.ask(s.input(1))
	require.Equal(t, string(llm.InvalidRequest), failure(t, err).Type())
	require.True(t, failure(t, err).NonRetryable())
	require.ErrorContains(t, err, "output_schema: the JSON schema is refused: it refers to itself")
	require.Empty(t, s.model.Requests())

	doing, err := activities.New(activities.Options{
		Temporal: s.workflow, Models: map[string]activities.Model{"main": {Client: s.model, Model: "m"}},
		Agents: []activities.Agent{{Name: "x", Model: "main", OutputSchema: endless}},
	})
	require.NoError(t, err)
	require.ErrorContains(t, doing.Check(t.Context()), "agents.x.output_schema: the JSON schema is refused")
}

// A secret that a model or a tool returns does not enter a payload.
func TestAttackSecretEntersNoPayload(t *testing.T) {
	const secret = "sk-test-6f1d7c55e0b94f6d"
	model := llmtest.Script(llmtest.Call(llmtest.ToolCall(secret, "a", `{"key":"`+secret+`"}`)), llmtest.Say("it is "+secret))
	s := newStage(t, model)
	doing, err := activities.New(activities.Options{
		Temporal: s.workflow, Models: map[string]activities.Model{"main": {Client: model, Model: "m"}}, Tools: new(tool.Registry),
		Redact: redact.New(secret).Text,
	})
	require.NoError(t, err)
	s.doing = doing
	s.open()
	s.say(llm.User, "hello")
	for range 2 {
		v, err := s.ExecuteActivity(protocol.CallModel, s.input(1))
		require.NoError(t, err)
		var raw json.RawMessage
		require.NoError(t, v.Get(&raw))
		require.NotContains(t, string(raw), secret)
		require.Contains(t, string(raw), "[hidden]")
		s.say(llm.User, "again")
	}
	s = newStage(t, llmtest.Func(func(ctx context.Context, _ llm.Request) (llm.Reply, error) {
		return llm.Reply{}, &llm.Error{Class: llm.InvalidRequest, Message: "no " + secret}
	}))
	registry := new(tool.Registry)
	require.NoError(t, registry.Add(tool.MustFunc("says", "", tool.ReadOnly, func(context.Context, struct{}) (string, error) { return "it is " + secret, nil })))
	require.NoError(t, registry.Add(tool.MustFunc("fails", "", tool.ReadOnly, func(context.Context, struct{}) (string, error) {
		return "", fmt.Errorf("%w: no %s", tool.ErrNotRun, secret)
	})))
	s.doing, err = activities.New(activities.Options{
		Temporal: s.workflow, Models: map[string]activities.Model{"main": {Client: s.model, Model: "m"}}, Tools: registry,
		Redact: redact.New(secret).Text,
	})
	require.NoError(t, err)
	s.open()
	s.say(llm.User, "hello")
	_, err = s.ask(s.input(1))
	require.ErrorContains(t, err, "no [hidden]")
	s.named.key = "tool-1"
	result, err := s.call(protocol.CallToolInput{CallID: "c1", Ref: "says", Arguments: "{}"})
	require.NoError(t, err)
	require.Equal(t, "it is [hidden]", result.Content)
	s.named.key = "tool-2"
	_, err = s.call(protocol.CallToolInput{CallID: "c2", Ref: "fails", Arguments: "{}"})
	require.ErrorContains(t, err, "no [hidden]")
}

// A tool of an MCP server cannot pass for a sub-agent, and no tool for the tool that manages sub-agents.
func TestAttackSubAgentThatLooksLikeATool(t *testing.T) {
	for name, want := range map[string]string{
		"Helper": "agents.x.agents[0]: the name of the sub-agent helper looks like that of the tool Helper; rename one of them",
		"helper": "agents.x.agents[0]: the sub-agent helper has the name of a tool; rename one of them",
		"agent5": "",
		"Agents": `agent x: the tool or sub-agent "Agents" has the name, or almost the name, of the tool "agents", which an agent with sub-agents in the background has; rename the tool or sub-agent`,
	} {
		var tools tool.Registry
		require.NoError(t, tools.Add(tool.MustFunc(name, "", tool.ReadOnly, func(context.Context, struct{}) (string, error) { return "", nil })))
		doing, err := activities.New(activities.Options{
			Temporal: &workflow{contact: new(contact)}, Models: map[string]activities.Model{"main": {Model: "m"}}, Tools: &tools,
			Agents: []activities.Agent{
				{Name: "x", Model: "main", Tools: []string{name}, Agents: []string{"helper"}, Background: []string{"helper"}},
				{Name: "helper", Model: "main"},
			},
		})
		require.NoError(t, err)
		_, err = doing.Digests(t.Context())
		if want == "" {
			require.NoError(t, err, name)
		} else {
			require.EqualError(t, err, want)
		}
	}
}
