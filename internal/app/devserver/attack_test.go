//go:build unix

package devserver

import (
	"errors"
	"fmt"
	"io/fs"

	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAttackServerInheritsNoKeys(t *testing.T) {
	require.Equal(t, []string{"PATH=/bin", "HOME=/me"},
		environment([]string{"OPENAI_API_KEY=sk-1", "PATH=/bin", "AWS_SECRET_ACCESS_KEY=x", "TEMPORAL_ADDRESS=y", "HOME=/me", "GITHUB_TOKEN=z"}))
	require.NotContains(t, buildEnv([]string{"OPENAI_API_KEY=sk-1", "GOPROXY=x"}, "/tmp"), "OPENAI_API_KEY=sk-1")

	t.Setenv("OPENAI_API_KEY", "sk-1")
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", startFor(t, Options{}).PID()))
	if !errors.Is(err, fs.ErrNotExist) { // only Linux has this file
		require.NoError(t, err)
		require.Contains(t, string(environ), "PATH=")
		require.NotContains(t, string(environ), "sk-1")
	}
}

// A user who can write the program, or a folder above it, could replace the program. Such a program is not run.
func TestAttackProgramThatOthersMayWriteIsNotRun(t *testing.T) {
	dir := t.TempDir()
	cache := filepath.Join(dir, "cache")
	require.NoError(t, os.MkdirAll(cache, 0o755))
	path := filepath.Join(cache, "temporal")
	require.NoError(t, checkOwned(path))
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755))
	require.NoError(t, checkOwned(path))
	for _, place := range []string{path, cache, dir} {
		require.NoError(t, os.Chmod(place, 0o777))
		require.ErrorContains(t, checkOwned(path), place+" can be written by others", place)
		require.NoError(t, os.Chmod(place, 0o755))
	}
	if os.Geteuid() == 0 {
		require.NoError(t, os.Chown(path, 12345, -1))
		require.ErrorContains(t, checkOwned(path), path+" belongs to another user")
	}
}

// The database contains the agents' messages, so only its owner may read it.
func TestAttackDatabaseIsReadByItsOwnerOnly(t *testing.T) {
	database := filepath.Join(t.TempDir(), "dev.db")
	for _, suffix := range []string{"", "-wal"} {
		require.NoError(t, os.WriteFile(database+suffix, nil, 0o644))
	}
	require.NoError(t, makePrivate(database))
	for _, suffix := range []string{"", "-wal"} {
		info, err := os.Stat(database + suffix)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	}
	made := filepath.Join(t.TempDir(), "made")
	c, err := startChild("/bin/sh", []string{"-c", "echo x > " + made}, os.Stderr)
	require.NoError(t, err)
	<-c.done
	info, err := os.Stat(made)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}
