package settle

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
)

func waitingText(key agent.Key) client.Waits {
	w := waitingCall("tone", `{"kind":"answer","text":"No!","reason":"rude?"}`)
	w.Call.Key = key
	return w
}

// The flag --all decides on calls only. It names the texts that it has left alone, and the commands for them.
func TestAllLeavesTextsAlone(t *testing.T) {
	t.Parallel()
	call := waitingCall("tone", `{"kind":"answer","text":"No!"}`)
	text := waitingText("text-11111111111111111111111111111111")
	o := Decision{Approve: true, all: true, Remember: Remember{Tool: true}}
	chosen, texts, err := o.choose("a", []client.Waits{text, call})
	require.NoError(t, err)
	require.Equal(t, []client.Waits{call}, chosen)
	require.Equal(t, []client.Waits{text}, texts)
	require.Empty(t, call.Alike([]client.Waits{text, call}))
	require.Equal(t, "--all leaves alone 1 text about which a guardrail asks; decide on it with `starter approve a 11111111`", o.left(texts).String())
	require.Equal(t, "--all leaves alone 4 texts about which guardrails ask; decide on each with "+
		"`starter deny a 11111111`, `starter deny a 11111111`, `starter deny a 11111111` and so on: see `starter inbox`",
		Decision{}.left([]client.Waits{text, text, text, text}).String())

	_, _, err = o.choose("a", []client.Waits{text})
	require.Equal(t, exit.WrongState, exit.CodeOf(err))
	require.ErrorContains(t, err, "no call of agent a or of its sub-agents waits for a decision; --all leaves alone 1 text")
	require.Equal(t, []string{"starter approve a 11111111"}, exit.CommandsOf(err))

	chosen, _, err = Decision{Approve: true}.choose("a", []client.Waits{text})
	require.NoError(t, err)
	require.Equal(t, []client.Waits{text}, chosen)
	require.ErrorAs(t, func() error { _, _, err := Decision{}.choose("a", []client.Waits{text, call}); return err }(), new(*client.AmbiguousCallError))
}

// A flag that holds for calls only is a mistake of the command line if a text waits.
func TestFlagForCallsIsAMistakeForAText(t *testing.T) {
	t.Parallel()
	text := waitingText("text-11111111111111111111111111111111")
	for flag, o := range map[string]Decision{
		"--for-agent": {Approve: true, Remember: Remember{Tool: true}}, "--for-agent-call": {Approve: true, Remember: Remember{Call: true}},
		"--arguments": {Approve: true, Arguments: "{}"},
	} {
		err := o.fits(text)
		require.EqualError(t, err, flag+" cannot be used for 11111111, a text (answer) about which the guardrail tone asks; "+
			"a text is approved as it is, one at a time: leave the flag out, as in `starter approve a 11111111`")
		require.Equal(t, exit.Usage, exit.CodeOf(err))
		require.NoError(t, o.fits(waitingCall("tone", `{"kind":"answer","text":"No!"}`)))
	}
	require.NoError(t, Decision{Approve: true}.fits(text))
	require.NoError(t, Decision{Reason: "rude"}.fits(text))
}
