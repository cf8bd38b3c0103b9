package main

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/progress"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/cmd/starter/internal/turn"
	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
)

// commandLine matches a command in a text: between backticks, or on a line of its own.
var commandLine = regexp.MustCompile("`(starter [^`]+)`|(?m:^  (starter .*)$)")

func hints(t *testing.T, id string) []string {
	t.Helper()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	all := []string{
		session.GoesOn(ended, errors.New("a failure"), id).Error(),
		hint(id, client.Held), hint(id, client.Failed),
		progress.RetryText(client.Retry{Class: protocol.UnknownAgent}, id),
		notResumed(client.Started{ID: id}, client.ResumeOptions{Message: "x"}),
	}
	for _, status := range []client.Status{client.Completed, client.Failed, client.Held, client.Waiting} {
		all = append(all, session.GoOnFrom(id, status).String())
		for _, class := range []llm.Class{"", llm.NotFound, llm.Unauthorized, llm.QuotaExceeded, llm.Connection} {
			if err := turn.Verdict(client.Snapshot{ID: id, Status: status, Class: string(class), Stopped: "cost"}); err != nil {
				all = append(all, err.Error())
			}
		}
	}
	var inbox bytes.Buffer
	question := agent.Call{Key: "tool-0123456789abcdef0123456789abcdef", Name: agent.AskUser, Wait: agent.CallWait{For: agent.WaitsForAnswer}, Arguments: `{"question":"which?"}`}
	given := agent.Call{Key: "tool-1123456789abcdef0123456789abcdef", Name: "deploy", Wait: agent.CallWait{For: agent.WaitsForResult}, Arguments: `{}`}
	waits := []client.Waits{waiting("pay", `{}`), {Call: question}, {Call: given}}
	for i := range waits {
		waits[i].AgentID = id
	}
	require.NoError(t, inboxOptions{}.print(&inbox, waits, time.Now()))
	return append(all, inbox.String())
}

// A person who copies a command gets the agent that the command is about, whatever its ID: no shell and no flag comes between.
func TestAttackPrintedCommandsNameTheirAgent(t *testing.T) {
	for _, id := range []string{
		"talk", "--all", "-h", "--help", "--", "-", "-q", "--yes", "--address=evil:1", "$(touch x)", "`touch x`", "a b", "it's", `a"b`, `a\b`, "a;touch x", "a\nb", "\x1b[2Ja",
		"*", "#a", "!!", "help", "~", "=ls", "-a\n'b", "--reason", "a/child-0123", "%s",
	} {
		verbs := map[string]bool{}
		for _, text := range hints(t, id) {
			for _, found := range commandLine.FindAllStringSubmatch(text, -1) {
				line := found[1] + found[2]
				require.Equal(t, line, printable.Text(line))
				cmd := exec.Command("sh", "-c", `starter() { printf '%s\0' "$@"; }`+"\n"+line)
				cmd.Dir = t.TempDir()
				out, err := cmd.CombinedOutput()
				require.NoError(t, err, "%s: %s", line, out)
				words := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
				run, rest, err := newRoot().Find(words)
				require.NoError(t, err, line)
				require.Equal(t, words[0], run.Name(), line)
				run.InitDefaultHelpFlag()
				require.NoError(t, run.ParseFlags(rest), line)
				help, err := run.Flags().GetBool("help")
				require.NoError(t, err)
				require.False(t, help, line)
				arguments := run.Flags().Args()
				require.NoError(t, run.ValidateArgs(arguments), line)
				require.Equal(t, id, arguments[0], line)
				verbs[run.Name()] = true
			}
		}
		require.Len(t, verbs, 11, "%v", verbs)
	}
}
