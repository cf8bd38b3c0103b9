package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
	"github.com/reagent-dev/reagent/cmd/starter/internal/listing"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/cmd/starter/internal/view"
	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/llm"
)

// hostile manipulates a terminal in each known way: it clears the screen, sets a title with C0 and with C1 controls, reverses the
// order of letters, hides letters and forges a line.
const hostile = "\x1b[2J\x1b]0;t\x07\u009b31m\u009d0;t\u009c\u0085\x7f\u202etxt\u2066\u200b\ufeff\u2028\rx\nforged"

// safeTerminal fails the test if the text contains characters that manipulate a terminal.
func safeTerminal(t *testing.T, text string) {
	t.Helper()
	require.Equal(t, printable.Text(text), text)
}

func hostileSnapshot() client.Snapshot {
	words := llm.Message{Role: llm.Assistant, Content: hostile, ToolCalls: []llm.ToolCall{{ID: hostile, Name: hostile, Arguments: hostile}}}
	return client.Snapshot{
		ID: hostile, Agent: hostile, Status: client.Failed,
		Messages: []agent.Message{{Message: words}, {Message: llm.Message{Role: llm.Tool, Content: hostile, ToolCallID: hostile}}},
		Pending:  []agent.Call{{CallID: hostile, Name: hostile, Arguments: hostile}},
		Queue:    []agent.QueuedMessage{{ID: hostile, Text: hostile}},
		Children: []client.Child{{ID: hostile, Agent: hostile, Status: client.Running}},
		Retry:    &client.Retry{What: hostile, Class: hostile, Message: hostile, Attempt: 2},
		Failure:  hostile, Class: hostile, Stopped: hostile, Answer: hostile,
	}
}

// hostileWaits returns a call of each kind that waits for a person.
func hostileWaits() []client.Waits {
	arguments, err := json.Marshal(agent.Question{Question: hostile, Choices: []string{hostile}})
	if err != nil {
		panic(err)
	}
	call := agent.Call{Key: "tool-0123456789abcdef0123456789abcdef", Name: hostile, Arguments: string(arguments)}
	approval, result, question := call, call, call
	approval.Wait.For, result.Wait.For, question.Wait.For, question.Name = agent.WaitsForApproval, agent.WaitsForResult, agent.WaitsForAnswer, agent.AskUser
	var all []client.Waits
	for _, c := range []agent.Call{approval, result, question} {
		all = append(all, client.Waits{AgentID: hostile, Agent: hostile, Call: c})
	}
	return all
}

// No output of a command lets text of unknown origin manipulate the terminal.
func TestAttackNoOutputDrivesTheTerminal(t *testing.T) {
	rows := []listing.Row{{
		Entry:    client.Entry{ID: hostile, Agent: hostile, Parent: hostile, Started: time.Now()},
		Snapshot: client.Snapshot{Status: client.Running, Task: hostile, Stopped: hostile, Class: hostile},
	}}
	for name, write := range map[string]func(io.Writer) error{
		"show":        func(w io.Writer) error { view.Print(w, hostileSnapshot()); return nil },
		"show --json": func(w io.Writer) error { return object.Print(w, view.NewAgent(hostileSnapshot())) },
		"list":        func(w io.Writer) error { return printRows(w, rows, time.Now()) },
		"list --json": func(w io.Writer) error { return object.PrintAll(w, summaries(rows)) },
		"inbox":       func(w io.Writer) error { return inboxOptions{}.print(w, hostileWaits(), time.Now()) },
		"inbox --json": func(w io.Writer) error {
			return inboxOptions{json: true}.print(w, hostileWaits(), time.Now())
		},
		"tail --json": func(w io.Writer) error {
			return object.Print(w, object.Came(hostile, 1, hostileSnapshot().Messages[0]))
		},
		"error":        func(io.Writer) error { return errors.New(hostile) },
		"error --json": func(io.Writer) error { return errors.New(hostile) },
		"completion":   func(w io.Writer) error { _, err := io.WriteString(w, hostile+"\t"+hostile); return err },
	} {
		var stdout, stderr bytes.Buffer
		root := newRoot()
		cmd := &cobra.Command{Use: "hostile", RunE: func(cmd *cobra.Command, _ []string) error { return write(cmd.OutOrStdout()) }}
		cmd.Flags().Bool("json", false, "")
		root.AddCommand(cmd)
		runRoot(root, []string{"hostile", fmt.Sprint("--json=", strings.HasSuffix(name, "--json"))}, strings.NewReader(""), &stdout, &stderr)
		require.NotEmpty(t, stdout.String()+stderr.String(), name)
		safeTerminal(t, stdout.String())
		safeTerminal(t, stderr.String())
		if strings.HasSuffix(name, "--json") {
			printed := stdout.String() + stderr.String()
			require.Contains(t, printed, `\u009b31m`, name)
			for line := range strings.Lines(printed) {
				require.True(t, json.Valid([]byte(line)), name)
			}
		} else if name == "list" || name == "show" {
			head, _, _ := strings.Cut(strings.TrimPrefix(stdout.String(), "ID"), "\nforged")
			require.NotContains(t, head, "\nforged", "a name stays on its line")
			require.Equal(t, name == "list", !strings.Contains(stdout.String(), "\nforged"), name)
		}
	}
}

func TestAttackKeysOfAConfigurationAreEscaped(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv(session.ConfigEnv, "")
	key, err := json.Marshal(hostile)
	require.NoError(t, err)
	key = printable.JSON(key)
	require.NoError(t, os.WriteFile("agents.yaml", []byte("agents: {"+string(key)+": {model: main, "+string(key)+": 1}}\n"+string(key)+": 1\n"), 0o600))
	code, _, stderr := starter(t, "run", "Hello")
	require.Equal(t, exit.Usage, code)
	require.Contains(t, stderr, `\x1b[2J`)
	require.NotContains(t, stderr, "\nforged")
	safeTerminal(t, stderr)
}
