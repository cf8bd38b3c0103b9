package settle

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/printable"
)

// waitingCall returns a call that waits for an approval.
func waitingCall(name, arguments string) client.Waits {
	return client.Waits{AgentID: "a", Agent: "x", Call: agent.Call{
		Key: "tool-0123456789abcdef0123456789abcdef", Name: name, Arguments: arguments, Wait: agent.CallWait{For: agent.WaitsForApproval},
	}}
}

// Before a person decides on a call, `starter approve` shows all of its arguments, also those that `starter inbox` cuts. It says on which
// arguments it has decided.
func TestAttackDecisionShowsAllArguments(t *testing.T) {
	t.Parallel()
	w := waitingCall("pay", `{"to":"`+strings.Repeat("x", 8000)+`boss"}`)
	o := Decision{Approve: true, Arguments: `{"to":"` + strings.Repeat("y", 8000) + `me"}`}
	text := o.shownText([]client.Waits{w}, time.Now(), false)
	require.Contains(t, text, " pay\n    to  xxx")
	require.Contains(t, text, "xboss\nIt will run with these arguments instead:\n    to  yyy")
	require.Contains(t, text, "yme\n")
	require.Less(t, len(o.doneText(w, false)), 12_000)
	o.Arguments, w.Call.Arguments = `{"to":"me"}`, `{"to":"boss"}`
	require.Equal(t, "Approved 01234567 pay of agent a:\n    to  me\nin place of:\n    to  boss\n", o.doneText(w, false))
	require.Equal(t, "Denied 01234567 pay of agent a:\n    to  boss\n", Decision{}.doneText(w, false))
	text = Decision{Approve: true, Remember: Remember{Tool: true}}.doneText(w, false)
	require.Contains(t, text, "\nIts other calls of pay, those that wait and later ones, run without asking.\n")
}

// The question of `starter approve` says all that a "y" permits.
func TestQuestionSaysWhatYesPermits(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]Decision{
		"Deny?":    {},
		"Approve?": {Approve: true},
		"Approve, and let all other calls of this tool by this agent run, those that wait and later ones?": {Approve: true, Remember: Remember{Tool: true}},
		"Approve, and let later calls with the same arguments run, too?":                                   {Approve: true, Remember: Remember{Call: true}},
	} {
		require.Equal(t, want, o.question(1))
	}
	require.Equal(t, "Deny these 3 calls?", Decision{}.question(3))
	require.Equal(t, "Approve these 3 calls, and let all other calls of their tools by their agents run, those that wait and later ones?",
		Decision{Approve: true, Remember: Remember{Tool: true}}.question(3))
}

// What a person is asked before a decision, and told after it, cannot manipulate the terminal.
func TestAttackDecisionDrivesNoTerminal(t *testing.T) {
	t.Parallel()
	const hostile = "\x1b[2J\x1b]0;t\x07\u009b31m\u202etxt\u2066\u200b\u2028\rx\nforged"
	w := waitingCall(hostile, hostile)
	w.AgentID, w.Agent = hostile, hostile
	o := Decision{Approve: true, Arguments: hostile}
	for _, text := range []string{o.shownText([]client.Waits{w}, time.Now(), false), o.doneText(w, false)} {
		require.Equal(t, printable.Text(text), text)
		require.NotContains(t, text, "\nforged")
	}
}
