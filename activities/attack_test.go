package activities_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/activities"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// A schema against which no check of an answer would end costs no model call: the turn is held.
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
	require.ErrorContains(t, doing.Check(t.Context()), "agent x: output_schema: the JSON schema is refused")
}
