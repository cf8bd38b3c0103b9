package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
)

// A person who names a wrong call is told which command to use.
func TestWrongCallNamesTheNextCommand(t *testing.T) {
	for want, missing := range map[string]client.NoCallError{
		`the call "1" of agent "a" waits for a result from outside, not for an answer: use ` + "`starter complete`":       {Call: "1", For: "an answer", WaitsFor: client.WaitsForResult},
		`the call "1" of agent "a" waits for an answer, not for a decision: use ` + "`starter answer`":                    {Call: "1", For: "a decision", WaitsFor: client.WaitsForAnswer},
		`the call "1" of agent "a" waits for a decision, not for an answer: use ` + "`starter approve` or `starter deny`": {Call: "1", For: "an answer", WaitsFor: client.WaitsForApproval},
		`no call "1" of agent "a" or of its sub-agents waits for a decision: see ` + "`starter inbox`":                    {Call: "1", For: "a decision"},
		`no call of agent "a" or of its sub-agents waits for a decision`:                                                  {For: "a decision"},
	} {
		missing.ID = "a"
		err := refused(&missing)
		require.EqualError(t, err, want)
		require.Equal(t, exit.WrongState, exit.CodeOf(err))
	}
}

// Flags that no agent accepts are mistakes of the command line. They are found without Temporal.
func TestWrongFlagsOfADecisionAreUsageMistakes(t *testing.T) {
	t.Chdir(t.TempDir())
	for want, args := range map[string][]string{
		"starter: --for-agent and --for-agent-call exclude each other; leave one of them out; see `starter approve --help`\n": {"approve", "x", "--for-agent", "--for-agent-call"},
		"starter: --arguments and --for-agent exclude each other; leave one of them out; see `starter approve --help`\n":      {"approve", "x", "--for-agent", "--arguments", "{}"},
		"starter: --json and --quiet exclude each other; leave one of them out; see `starter run --help`\n":                   {"run", "x", "--quiet", "--json"},
		"starter: --arguments: the arguments must be a JSON object\n":                                                         {"approve", "x", "--arguments", "[1]"},
		"starter: --reason: the reason has 4001 bytes; the limit is 4000\n":                                                   {"deny", "x", "--reason", strings.Repeat("x", 4001)},
	} {
		code, stdout, stderr := starter(t, args...)
		require.Equal(t, want, stderr)
		require.Equal(t, exit.Usage, code)
		require.Empty(t, stdout)
	}
	code, _, stderr := starter(t, "approve", "x", "--arguments", "")
	require.Equal(t, "starter: --arguments: the arguments must be a JSON object\n", stderr)
	require.Equal(t, exit.Usage, code)
}
