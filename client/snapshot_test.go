package client

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/history"
	"github.com/reagent-dev/reagent/llm"
)

// An agent's state may say that the agent has failed before Temporal says so. The snapshot then has the reason already.
func TestSnapshotOfAnAgentThatIsEndingHasTheReason(t *testing.T) {
	for name, state := range map[string]*agent.State{
		"outcome": {Outcome: &agent.Outcome{Status: agent.Failed, Class: "Overloaded", Message: "busy"}},
		"held task": {
			Mode: agent.Task, Definition: &agent.Definition{}, Hold: &agent.Hold{Class: "Overloaded", Message: "busy"},
		},
	} {
		snap := snapshot("x", Running, "", &history.Run{State: state})
		require.Equal(t, []string{"failed", "Overloaded", "busy"}, []string{string(snap.Status), snap.Class, snap.Failure}, name)
	}
}

// A program that shows an agent can say which models it has and how full the conversation is.
func TestSnapshotHasTheModelsAndTheContext(t *testing.T) {
	models := []llm.Candidate{{Name: "main", Model: "gpt"}, {Name: "spare", Model: "other"}}
	state := &agent.State{Definition: &agent.Definition{Candidates: models, Limits: agent.Limits{ContextTokens: 100}}}
	snap := snapshot("x", Running, "", &history.Run{State: state, ContextTokens: 42})
	require.Equal(t, models, snap.Models)
	require.Equal(t, []int{42, 100}, []int{snap.ContextTokens, snap.ContextLimit})
}
