package main

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
)

// shellWords splits a command line of the help as a shell does, without what follows a # and without variables before the program.
func shellWords(t *testing.T, line string) []string {
	t.Helper()
	line, _, _ = strings.Cut(line, " #")
	var words []string
	for _, m := range regexp.MustCompile(`"[^"]*"|'[^']*'|\S+`).FindAllString(line, -1) {
		if m[0] == '"' || m[0] == '\'' {
			m = m[1 : len(m)-1]
		}
		words = append(words, m)
	}
	return words
}

// examples are the command lines of the help and the README that call starter, without those that run a server.
func examples(t *testing.T) [][]string {
	t.Helper()
	var lines []string
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		lines = append(lines, strings.Split(cmd.Example, "\n")...)
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(newRoot())
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	for line := range strings.Lines(string(readme)) {
		if rest, ok := strings.CutPrefix(line, "go run ./cmd/starter "); ok {
			lines = append(lines, "starter "+rest)
		}
	}
	var all [][]string
	for _, line := range lines {
		if inner, ok := strings.CutPrefix(strings.TrimSpace(line), "answer=$("); ok {
			line = strings.TrimSuffix(inner, ")")
		}
		words := shellWords(t, line)
		if at := slices.Index(words, "starter"); at >= 0 {
			words = words[at+1:]
		}
		if cut := slices.IndexFunc(words, func(w string) bool { return w == "|" || w == "<" || w == "2>/dev/null" }); cut >= 0 {
			words = words[:cut]
		}
		if len(words) == 0 || slices.Contains([]string{"dev", "demo", "help", "check", "schema", "codec-server"}, words[0]) || slices.Contains(words, "--image") || slices.Contains(words, "--output-schema") {
			continue
		}
		all = append(all, words)
	}
	require.Greater(t, len(all), 20)
	return all
}

func nowhere(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}

// Without a server, each command of the help and the README prints one line. It says that the server is missing and how to start
// it.
func TestNewcomerHasNoTemporal(t *testing.T) {
	lines := examples(t)
	t.Chdir(t.TempDir())
	for _, file := range []string{"shorter.txt", "prompt.md"} { // the examples name them
		require.NoError(t, os.WriteFile(file, []byte("Be brief."), 0o600))
	}
	t.Setenv(session.ConfigEnv, "")
	t.Setenv("TEMPORAL_CONFIG_FILE", filepath.Join(t.TempDir(), "none.toml"))
	address := nowhere(t)
	t.Setenv("TEMPORAL_ADDRESS", address)
	for _, args := range lines {
		if slices.Contains(args, "--verify") || strings.Join(args[:min(2, len(args))], " ") == "serve key" {
			continue // it needs no server
		}
		code, stdout, stderr := starterReads(t, "a text", args...)
		if code == exit.Usage && (strings.Contains(stderr, "name the agent with -a") || strings.Contains(stderr, "there is no configuration with agents")) {
			continue // the example is for a folder with a configuration
		}
		require.Equal(t, exit.Unreachable, code, "%q: %s", args, stderr)
		if args[0] == "doctor" { // it says so among its findings
			require.Contains(t, stdout, address)
			require.Contains(t, stdout, "go run ./cmd/starter dev")
			continue
		}
		require.Empty(t, stdout, args)
		require.Equal(t, 1, strings.Count(stderr, "\n"), "%q: %s", args, stderr)
		require.Contains(t, stderr, address, args)
		require.Contains(t, stderr, "go run ./cmd/starter dev", args)
	}
}

// The README sets REAGENT_CONFIG relative to the checkout. In another folder the file is missing, and the message names it.
func TestNewcomerIsInAWrongFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv(session.ConfigEnv, "examples/agents.yaml")
	code, stdout, stderr := starter(t, "run", "-a", "assistant", "Hello")
	require.Equal(t, exit.Usage, code)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "REAGENT_CONFIG names the configuration file examples/agents.yaml, which does not exist in ")
}

// The error for a missing or mistyped argument names the argument, and contains no text of Go's libraries.
func TestNewcomerMistypes(t *testing.T) {
	for line, want := range map[string]string{
		"show":                    "the ID of the agent is missing: `starter show ID`",
		"tail":                    "the ID of the agent is missing: `starter tail ID`",
		"cancel":                  "the ID of the agent is missing: `starter cancel ID`",
		"rm":                      "the ID of the agent is missing: `starter rm ID`",
		"show one two":            "show takes the ID of one agent, but got 2 arguments: \"two\" is the second",
		"tail --last many talk":   "--last must be a whole number, not \"many\"",
		"fork --at first talk":    "--at must be a whole number, not \"first\"",
		"list --limit ten":        "--limit must be a whole number, not \"ten\"",
		"run --chat=perhaps Text": "--chat must be true or false, not \"perhaps\"",
		"tail --last":             "the value of --last is missing",
	} {
		code, stdout, stderr := starter(t, strings.Fields(line)...)
		require.Equal(t, exit.Usage, code, line)
		require.Empty(t, stdout, line)
		require.Contains(t, stderr, want, line)
		require.Equal(t, 1, strings.Count(stderr, "\n"), line)
		require.NotContains(t, stderr, "strconv", line)
	}
}

func TestNewcomerMistypesADuration(t *testing.T) {
	for _, text := range []string{"-1s", "long", "5"} {
		code, _, stderr := starter(t, "send", "a", "text", "--wait", text)
		require.Equal(t, exit.Usage, code)
		require.Contains(t, stderr, "--wait must be a duration")
	}
}
