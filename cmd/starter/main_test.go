package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
)

// asStarter is an environment variable. If it is set, the test program behaves like starter. Tests use it to run starter as a process.
const asStarter = "REAGENT_TEST_AS_STARTER"

func TestMain(m *testing.M) {
	if os.Getenv(asStarter) != "" {
		main()
	}
	os.Exit(m.Run())
}

func starter(t *testing.T, args ...string) (code exit.Code, stdout, stderr string) {
	t.Helper()
	return starterReads(t, "", args...)
}

func starterReads(t *testing.T, stdin string, args ...string) (code exit.Code, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = exit.Code(run(args, strings.NewReader(stdin), &out, &errs))
	return code, out.String(), errs.String()
}

func TestUsageMistakesAreOneLineAndCodeTwo(t *testing.T) {
	for line, want := range map[string]string{
		"dve":                       "starter: unknown command \"dve\", did you mean dev?; see `starter --help`\n",
		"nothing":                   "starter: unknown command \"nothing\"; see `starter --help`\n",
		"--prt 1":                   "starter: unknown flag: --prt; see `starter --help`\n",
		"dev --prt 1":               "starter: unknown flag: --prt; see `starter dev --help`\n",
		"dev --port many":           "starter: --port must be a whole number, not \"many\"; see `starter dev --help`\n",
		"dev now":                   "starter: dev takes no arguments, but got \"now\"; see `starter dev --help`\n",
		"dev -- --port":             "starter: dev takes no arguments, but got \"--port\"; see `starter dev --help`\n",
		"dev --address 127.0.0.1:1": "starter: dev runs a server on this machine: use --port in place of --address\n",
		"--address 127.0.0.1:1 dev": "starter: dev runs a server on this machine: use --port in place of --address\n",
		"--config":                  "starter: the value of --config is missing; see `starter --help`\n",
		"dev --port 7000 --port=":   "starter: --port must be a whole number, not \"\"; see `starter dev --help`\n",
	} {
		code, stdout, stderr := starter(t, strings.Fields(line)...)
		require.Equal(t, want, stderr, line)
		require.Equal(t, exit.Usage, code, line)
		require.Empty(t, stdout, line)
	}
}

// With --json, the error is an object, too, also if the command line is wrong.
func TestErrorIsAnObjectForPrograms(t *testing.T) {
	t.Setenv("TEMPORAL_ADDRESS", "127.0.0.1:1")
	for line, want := range map[string]string{
		"run x --quiet --json": `{"type":"error","error":"--json and --quiet cannot be used together; leave one of them out; see ` + "`starter run --help`" + `","exit_code":2,"commands":[]}`,
		"list --prt --json":    `{"type":"error","error":"unknown flag: --prt; see ` + "`starter list --help`" + `","exit_code":2,"commands":[]}`,
		"list --prt -- --json": "starter: unknown flag: --prt; see `starter list --help`",
		"dve --json":           "starter: unknown flag: --json; see `starter --help`",
	} {
		code, stdout, stderr := starter(t, strings.Fields(line)...)
		require.Equal(t, exit.Usage, code, line)
		require.Equal(t, want+"\n", stderr, line)
		require.Empty(t, stdout, line)
	}
	code, stdout, stderr := starter(t, "show", "x", "--json=true")
	require.Equal(t, exit.Unreachable, code)
	require.Empty(t, stdout)
	require.Contains(t, stderr, `"exit_code":5`)
	_, _, stderr = starter(t, "show", "x", "--json=false")
	require.True(t, strings.HasPrefix(stderr, "starter: "), stderr)
}

func TestHelpListsCommandsAndExitCodes(t *testing.T) {
	for _, args := range [][]string{{}, {"--help"}, {"help"}} {
		code, stdout, stderr := starter(t, args...)
		require.Equal(t, exit.OK, code)
		require.Empty(t, stderr)
		require.Contains(t, stdout, "Run a Temporal development server")
		require.Contains(t, stdout, exit.Help)
	}
	code, stdout, _ := starter(t, "dev", "--help")
	require.Equal(t, exit.OK, code)
	require.Contains(t, stdout, "starter dev --db-filename")
}

func TestVersionIsPrinted(t *testing.T) {
	code, stdout, stderr := starter(t, "--version")
	require.Equal(t, exit.OK, code)
	require.Regexp(t, `^starter version \S+.*, go\d`, stdout)
	require.Empty(t, stderr)
}

// After "--", a task such as "--help me" is text and not a flag.
func TestNothingAfterTheDashesIsAFlag(t *testing.T) {
	root := newRoot()
	var got []string
	var chat bool
	say := &cobra.Command{Use: "say", RunE: func(_ *cobra.Command, args []string) error {
		got = args
		return nil
	}}
	say.Flags().BoolVar(&chat, "chat", false, "")
	root.AddCommand(say)

	var out bytes.Buffer
	_, err := execute(context.Background(), root, []string{"say", "id", "--task-queue", "q", "--", "--chat", "-x", "--help", "--", "say"}, nil, &out, &out)
	require.NoError(t, err)
	require.Equal(t, []string{"id", "--chat", "-x", "--help", "--", "say"}, got)
	require.False(t, chat)
	require.Empty(t, out.String())
}

func TestErrorOfACommandKeepsItsCode(t *testing.T) {
	for want, err := range map[exit.Code]error{
		exit.OK:          nil,
		exit.Failure:     os.ErrClosed,
		exit.AgentFailed: exit.Errorf(exit.AgentFailed, "held: %w", os.ErrClosed),
	} {
		root := newRoot()
		root.AddCommand(&cobra.Command{Use: "fail", RunE: func(*cobra.Command, []string) error { return err }})
		_, got := execute(context.Background(), root, []string{"fail"}, nil, nil, nil)
		require.Equal(t, want, exit.CodeOf(got))
		if err != nil {
			require.ErrorIs(t, got, os.ErrClosed)
		}
	}
}
