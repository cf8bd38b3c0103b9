package main

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the help into testdata/help")

func TestHelp(t *testing.T) {
	var out bytes.Buffer
	cmd := newCommand()
	cmd.SetArgs([]string{"--help"})
	cmd.SetOut(&out)
	require.NoError(t, cmd.Execute())
	const golden = "testdata/help/worker.txt"
	if *update {
		require.NoError(t, os.WriteFile(golden, out.Bytes(), 0o644))
	}
	text, err := os.ReadFile(golden)
	require.NoError(t, err, "run the test with -update")
	require.Equal(t, string(text), out.String(), "run the test with -update if this is meant")
}

func TestVersionIsPrinted(t *testing.T) {
	var out bytes.Buffer
	cmd := newCommand()
	cmd.SetArgs([]string{"--version"})
	cmd.SetOut(&out)
	require.NoError(t, cmd.Execute())
	require.Regexp(t, `^worker version \S+.*, go\d`, out.String())
}
