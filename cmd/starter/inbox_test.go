package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/settle"
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
	for name, c := range map[string]struct {
		arguments string
		cut       bool
	}{
		"short":                {`{"to":"boss"}`, false},
		"just as long":         {`{"to":"` + strings.Repeat("x", settle.MaxShown-13) + `boss"}`, false},
		"long":                 {`{"to":"` + strings.Repeat("x", settle.MaxShown) + `boss"}`, true},
		"many characters":      {`{"to":"` + strings.Repeat("é", settle.MaxShown-13) + `boss"}`, false},
		"invisible characters": {`{"to":"` + strings.Repeat("\u200b", 1000) + `boss"}`, true},
		"escapes":              {`{"to":"` + strings.Repeat(`\u200b`, 1000) + `boss"}`, true},
		"white space":          {`{"to":` + strings.Repeat(" ", 2*settle.MaxShown) + `"boss"}`, false},
	} {
		var shown, whole bytes.Buffer
		require.NoError(t, printInbox(&shown, []client.Waits{waiting("pay", c.arguments)}, false, time.Now()))
		require.Equal(t, !c.cut, strings.Contains(shown.String(), "boss"), name)
		require.Equal(t, c.cut, strings.Contains(shown.String(), "are cut here, and a decision is about all of them: see `starter inbox --json`"), name)
		require.NoError(t, printInbox(&whole, []client.Waits{waiting("pay", c.arguments)}, true, time.Now()))
		var views []waitsView
		require.NoError(t, json.Unmarshal(whole.Bytes(), &views))
		require.Equal(t, c.arguments, views[0].Arguments, name)
	}
	question := client.Waits{AgentID: "a", Agent: "x", Call: agent.Call{
		Key: "tool-0123456789abcdef0123456789abcdef", Name: agent.AskUser, Wait: agent.CallWait{For: agent.WaitsForAnswer},
		Arguments: `{"question":"which?","choices":["` + strings.Repeat("x", 2*settle.MaxShown) + `"]}`,
	}}
	var shown bytes.Buffer
	require.NoError(t, printInbox(&shown, []client.Waits{question}, false, time.Now()))
	require.Contains(t, shown.String(), "are cut here")
}

// Arguments that differ look different in `starter inbox`, also if they differ in white space or in invisible characters only.
func TestAttackArgumentsThatDifferLookDifferent(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, arguments := range []string{
		`{"to":"a b"}`, `{"to":"a  b"}`, "{\"to\":\"a\u00a0b\"}", "{\"to\":\"a\u2003b\"}", `{"to":"a\tb"}`, `{"to":"a\nb"}`, "{\"to\":\"a\u200bb\"}",
		"{\"to\":\"a\u202eb\"}", "{\"to\":\"a\u2028b\"}", `{"to":"ab"}`, `{"to":"ab","To":"c"}`, `{"to":"a\u0000b"}`, "{\"to\":\"a\u200d\u200db\"}",
	} {
		text, cut := callText(waiting("pay", arguments))
		require.False(t, cut)
		require.Equal(t, 1, strings.Count(text, "\n"), "%q", text)
		safeTerminal(t, text)
		require.False(t, strings.ContainsFunc(strings.TrimSuffix(text, "\n"), func(r rune) bool { return r != ' ' && unicode.IsSpace(r) }), "%q", text)
		require.Empty(t, seen[text], "%q looks like %q", arguments, seen[text])
		seen[text] = arguments
	}
}
