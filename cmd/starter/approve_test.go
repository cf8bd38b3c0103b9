package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
)

// Flags that no agent accepts are mistakes of the command line. They are found without Temporal.
func TestWrongFlagsOfADecisionAreUsageMistakes(t *testing.T) {
	t.Chdir(t.TempDir())
	for want, args := range map[string][]string{
		"starter: --for-agent and --for-agent-call cannot be used together; leave one of them out; see `starter approve --help`\n":                                           {"approve", "x", "--for-agent", "--for-agent-call"},
		"starter: --arguments and --for-agent cannot be used together; leave one of them out; see `starter approve --help`\n":                                                {"approve", "x", "--for-agent", "--arguments", "{}"},
		"starter: --arguments: the arguments are not a JSON object that all parsers read alike; give one object of valid UTF-8 in which no two members have the same name\n": {"approve", "x", "--arguments", "[1]"},
		"starter: --reason: the reason has 4001 bytes; the limit is 4000: shorten the reason\n":                                                                              {"deny", "x", "--reason", strings.Repeat("x", 4001)},
	} {
		code, stdout, stderr := starter(t, args...)
		require.Equal(t, want, stderr)
		require.Equal(t, exit.Usage, code)
		require.Empty(t, stdout)
	}
	code, _, stderr := starter(t, "approve", "x", "--arguments", "")
	require.Equal(t, "starter: --arguments: the arguments are empty; give a JSON object, or leave the flag out to keep the arguments of the model\n", stderr)
	require.Equal(t, exit.Usage, code)
}
