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

// A text about which a guardrail asks is no call: a person decides on each alone, and never on later ones.
func TestTextIsDecidedAlone(t *testing.T) {
	text := waitsFor("text-11111111111111111111111111111111", "tone", `{"kind":"message","text":"Hurry up!","reason":"rude?"}`, false)
	waits := []client.Waits{text, waitsFor("k-00000001", "pay", "{}", false)}
	for _, flag := range []string{"--for-agent", "--for-agent-call", "--arguments {}"} {
		_, err := verdictsOf(command{"/approve", "11111111 " + flag}, waits)
		require.ErrorContains(t, err, "a text is approved as it is, one at a time")
	}
	got, err := verdictsOf(command{"/approve", "--all"}, waits)
	require.NoError(t, err)
	require.Equal(t, []verdict{{waits[1], agent.Decision{Approve: true}}}, got)
	_, err = verdictsOf(command{"/approve", "--all"}, waits[:1])
	require.EqualError(t, err, "only texts wait, about which a guardrail asks, and --all leaves them alone: name one, such as /approve 11111111")

	s := newStage(t, true)
	s.report(client.Progress{Status: client.Waiting, WaitsFor: client.WaitsForApproval})
	s.m.refreshed(client.Snapshot{}, nil, waits[:1])
	s.ready()
	s.shows("? May this text (message) pass? The guardrail tone asks.\n    kind    message\n    text    Hurry up!", "y approve · n deny")
	require.NotContains(t, s.screen(), "all later calls")
	s.keys("a", "backspace")
	s.press("y")
	require.Equal(t, []string{"decide talk text-11111111111111111111111111111111 approve=true remember= reason= result="}, s.asked)
	s.shows("Approved the text of the message.")
}
