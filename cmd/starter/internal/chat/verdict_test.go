package chat

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
)

// The command that approves all later calls of a tool also approves those that wait, as the key a does.
func TestApprovalForTheAgentIsForCallsThatWait(t *testing.T) {
	waits := []client.Waits{waitsFor("k-00000001", "pay", "{}", false), waitsFor("k-00000002", "post", "{}", false), waitsFor("k-00000003", "pay", "{}", false)}
	got, err := verdictsOf(command{"/approve", "00000003 --for-agent"}, waits)
	require.NoError(t, err)
	require.Equal(t, []verdict{{waits[2], agent.Decision{Approve: true, Remember: agent.RememberTool}}, {waits[0], agent.Decision{Approve: true}}}, got)
	got, err = verdictsOf(command{"/approve", "00000003 --for-agent-call"}, waits)
	require.NoError(t, err)
	require.Len(t, got, 1)
}
