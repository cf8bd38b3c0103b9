package activities

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
)

// Models do not see the guardrails of their agent, although a pattern among the tools matches them.
func TestGuardrailIsNoTool(t *testing.T) {
	guardrails := agent.Guardrails{Messages: []string{"files.read"}, Answers: []string{"files.put", "files.read"}}
	a, err := approver(t, Agent{Tools: []string{"clock", "files.*"}, Guardrails: guardrails})
	require.NoError(t, err)
	d, err := a.define(t.Context(), a.agents["x"], agent.Overrides{})
	require.NoError(t, err)
	var names []string
	for _, each := range d.Tools {
		names = append(names, each.Name)
	}
	require.Equal(t, []string{"clock", "fs_a_b", "fs_append"}, names)

	a, err = approver(t, Agent{Tools: []string{"clock", "files.read"}, Guardrails: guardrails})
	require.NoError(t, err)
	_, err = a.define(t.Context(), a.agents["x"], agent.Overrides{})
	require.EqualError(t, err, `agents.x.tools[1]: "files.read" is a guardrail of this agent, which models do not call; remove it from the tools`)
}

// A worker does not start with a guardrail that would refuse each text: then a person would have to decide on all of them.
func TestToolThatIsNoGuardrailIsReported(t *testing.T) {
	a, err := approver(t, Agent{Guardrails: agent.Guardrails{Messages: []string{"files.read"}, Answers: []string{"files.read", "clock"}}})
	require.NoError(t, err)
	_, err = a.define(t.Context(), a.agents["x"], agent.Overrides{})
	require.EqualError(t, err, `agents.x.guardrails.answers[1]: "clock" cannot be a guardrail: it takes no argument "kind", and a guardrail gets kind and text; add the argument as a string`)
}
