package main

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
)

var update = flag.Bool("update", false, "write the help of every command into testdata/help")

// The help texts are copied into documents. A change of a help text changes a file that a reviewer sees.
func TestHelpOfEveryCommand(t *testing.T) {
	root := newRoot()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	want := map[string]bool{}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".txt"
		want[name] = true
		args := slices.Concat(strings.Fields(cmd.CommandPath())[1:], []string{"--help"})
		code, stdout, stderr := starter(t, args...)
		require.Equal(t, exit.OK, code, name)
		require.Empty(t, stderr, name)
		golden := filepath.Join("testdata", "help", name)
		if *update {
			require.NoError(t, os.WriteFile(golden, []byte(stdout), 0o644))
		}
		text, err := os.ReadFile(golden)
		require.NoError(t, err, "run the test with -update")
		require.Equal(t, string(text), stdout, "run the test with -update if this is meant")
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				walk(sub)
			}
		}
	}
	walk(root)
	files, err := os.ReadDir(filepath.Join("testdata", "help"))
	require.NoError(t, err)
	for _, f := range files {
		require.True(t, want[f.Name()], "%s is of no command", f.Name())
	}
}
