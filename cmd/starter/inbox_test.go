package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
)

// waiting returns a call that waits for an approval.
func waiting(name, arguments string) client.Waits {
	return client.Waits{AgentID: "a", Agent: "x", Call: agent.Call{
		Key: "tool-0123456789abcdef0123456789abcdef", Name: name, Arguments: arguments, Wait: agent.CallWait{For: agent.WaitsForApproval},
	}}
}

// If `starter inbox` leaves out a part of the arguments on which a person decides, it says so, and says how to see all of them. This
// also holds for a text that is short until its invisible characters are shown.
func TestAttackArgumentsThatAreCutAreSaidToBe(t *testing.T) {
	t.Parallel()
	const characters = 4000 // as many as the inbox shows, with the name of the field and two spaces
	for name, c := range map[string]struct {
		arguments string
		cut       bool
	}{
		"short":                {`{"to":"boss"}`, false},
		"just as long":         {`{"to":"` + strings.Repeat("x", characters-8) + `boss"}`, false},
		"long":                 {`{"to":"` + strings.Repeat("x", characters) + `boss"}`, true},
		"many characters":      {`{"to":"` + strings.Repeat("é", characters-8) + `boss"}`, false},
		"invisible characters": {`{"to":"` + strings.Repeat("\u200b", 1000) + `boss"}`, true},
		"escapes":              {`{"to":"` + strings.Repeat(`\u200b`, 1000) + `boss"}`, true},
		"white space":          {`{"to":` + strings.Repeat(" ", 2*characters) + `"boss"}`, false},
	} {
		var shown, whole bytes.Buffer
		require.NoError(t, inboxOptions{}.print(&shown, []client.Waits{waiting("pay", c.arguments)}, time.Now()))
		require.Equal(t, !c.cut, strings.Contains(shown.String(), "boss"), name)
		require.Equal(t, c.cut, strings.Contains(shown.String(), "are left out here, and a decision is about all of them: `starter inbox --full` shows them"), name)
		shown.Reset()
		require.NoError(t, inboxOptions{full: true}.print(&shown, []client.Waits{waiting("pay", c.arguments)}, time.Now()))
		require.Contains(t, shown.String(), "boss", name)
		require.NotContains(t, shown.String(), "left out", name)
		require.NoError(t, inboxOptions{json: true}.print(&whole, []client.Waits{waiting("pay", c.arguments)}, time.Now()))
		var printed struct{ Arguments string }
		require.NoError(t, json.Unmarshal(whole.Bytes(), &printed))
		require.Equal(t, c.arguments, printed.Arguments, name)
	}
	question := client.Waits{AgentID: "a", Agent: "x", Call: agent.Call{
		Key: "tool-0123456789abcdef0123456789abcdef", Name: agent.AskUser, Wait: agent.CallWait{For: agent.WaitsForAnswer},
		Arguments: `{"question":"which?","choices":["` + strings.Repeat("x", 2*characters) + `"]}`,
	}}
	var shown bytes.Buffer
	require.NoError(t, inboxOptions{}.print(&shown, []client.Waits{question}, time.Now()))
	require.Contains(t, shown.String(), "is left out here: `starter inbox --full` shows it")
}

// The inbox shows a text with its line breaks, an edit as the lines that it removes and adds, and a command as it would run.
func TestInboxShowsWhatACallWouldDo(t *testing.T) {
	t.Parallel()
	for want, w := range map[string]client.Waits{
		"write_file\n    path  notes.md\n    content (2 lines, 12 bytes)\n      # Plan\n      done\n": waiting("write_file", `{"path":"notes.md","content":"# Plan\ndone\n"}`),
		"edit_file\n    path  a.go\n    old → new (-1 +1 lines, 1 → 1 byte)\n      - x\n      + y\n":  waiting("edit_file", `{"path":"a.go","old":"x","new":"y"}`),
		"shell\n    $ go test ./...\n  starter approve a 01234567\n":                                  waiting("shell", `{"command":"go test ./..."}`),
	} {
		var shown bytes.Buffer
		require.NoError(t, inboxOptions{}.print(&shown, []client.Waits{w}, time.Now()))
		require.Contains(t, shown.String(), want)
	}
}

// The head of a text about which a guardrail asks says that it is a text, and programs get what it is, who asks and why.
func TestInboxSaysThatATextIsNoCall(t *testing.T) {
	t.Parallel()
	text := waiting("tone", `{"kind":"message","text":"Hurry up!","reason":"is this rude?"}`)
	text.Call.Key = "text-0123456789abcdef0123456789abcdef"
	var plain, objects bytes.Buffer
	require.NoError(t, inboxOptions{}.print(&plain, []client.Waits{text}, time.UnixMilli(0)))
	require.Equal(t, "a (x), for 0 s: a text (message) about which the guardrail tone asks\n    kind    message\n    text    Hurry up!\n    reason  is this rude?\n"+
		"  starter approve a 01234567\n  starter deny a 01234567 --reason '…'\n", plain.String())
	require.NoError(t, inboxOptions{json: true}.print(&objects, []client.Waits{text, waiting("tone", `{"kind":"message","text":"x"}`)}, time.UnixMilli(0)))
	decoder := json.NewDecoder(&objects)
	for _, want := range []string{"message tone is this rude?", "  "} {
		var one struct{ Subject, Guardrail, Reason string }
		require.NoError(t, decoder.Decode(&one))
		require.Equal(t, want, one.Subject+" "+one.Guardrail+" "+one.Reason)
	}
}
