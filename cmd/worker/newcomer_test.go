package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// For a wrong folder or a mistyped command line, the worker prints one line that says what to do.
func TestNewcomerStartsAWorkerInAWrongFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("REAGENT_CONFIG", "")
	for line, want := range map[string]string{
		"":                                "there is no configuration file agents.yaml: name one with --config",
		"--config examples/agents.yaml":   "there is no configuration file examples/agents.yaml: name one with --config",
		"examples/agents.yaml":            "worker takes no arguments, but got \"examples/agents.yaml\"",
		"--config a.yaml --drain forever": "--drain must be a duration such as 90s, 10m or 1h, not \"forever\"",
		"--config":                        "the value of --config is missing",
	} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, 1, run(strings.Fields(line), &stdout, &stderr), line)
		require.Contains(t, stderr.String(), want, line)
		require.Equal(t, 1, strings.Count(stderr.String(), "\n"), line)
	}
}
