package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/printable"
)

func TestAttackWorkersErrorsDriveNoTerminal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agents.yaml")
	require.NoError(t, os.WriteFile(path, []byte("\"\\e[2J\\x9b31m\\u202e\": 1\n"), 0o600))
	var stdout, stderr bytes.Buffer
	require.Equal(t, 1, run([]string{"--config", path}, &stdout, &stderr))
	require.Contains(t, stderr.String(), `\x1b[2J\x9b31m\u202e: unknown key`)
	require.Equal(t, printable.Text(stderr.String()), stderr.String())
	require.Empty(t, stdout.String())

	stderr.Reset()
	require.Equal(t, 1, run([]string{"--config", "\x1b[2J\u009b31m"}, &stdout, &stderr))
	require.Contains(t, stderr.String(), `there is no configuration file \x1b[2J\x9b31m`)
	require.Equal(t, 1, run([]string{"\x1b[2J"}, &stdout, &stderr))
	require.Equal(t, printable.Text(stderr.String()), stderr.String())
}
