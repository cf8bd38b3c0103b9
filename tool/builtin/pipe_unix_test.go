//go:build unix

package builtin_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/tool/builtin"
)

func pipe(t *testing.T, path string) {
	t.Helper()
	require.NoError(t, syscall.Mkfifo(path, 0o600))
}

func TestReadFileDoesNotBlockOnAPipe(t *testing.T) {
	root := tree(t, nil)
	pipe(t, filepath.Join(root, "pipe"))
	k := newKit(t, builtin.Options{Root: root})
	require.Contains(t, k.fails("read_file", map[string]any{"path": "pipe"}), "not a regular file")
	require.Contains(t, k.ok("list_files", nil), "pipe (special)")
}
