package builtin_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/tool"
	"github.com/reagent-dev/reagent/tool/builtin"
)

// Such a query took minutes on one line of 4 MiB.
func TestAttackQueryIsBounded(t *testing.T) {
	line := strings.Repeat("x", 3<<20)
	k := newKit(t, builtin.Options{Root: tree(t, map[string]string{"one-line.txt": line + "needle", "b.txt": "needle"})})
	require.Contains(t, k.fails("search_files", map[string]any{"query": "(x{0,20}y?){1,50}$"}), "repeats too much")
	require.Contains(t, k.fails("search_files", map[string]any{"query": strings.Repeat("(x+x+)+", 500)}), "the limit is 1000")
	require.Contains(t, k.fails("search_files", map[string]any{"query": "a", "glob": strings.Repeat("*a", 5000)}), "the limit is 1000")
	require.Equal(t, "b.txt:1: needle\n[1 long lines were searched in their first 32768 bytes only]\n",
		k.ok("search_files", map[string]any{"query": "(x{0,20}y?){1,3}needle$"}))
}

// A file may have more bytes than the disk, and a line of it no end.
func TestAttackSparseFileIsNotReadToItsEnd(t *testing.T) {
	root := tree(t, map[string]string{"sparse.txt": "first\n" + strings.Repeat("text", 5000), "b.txt": "needle\n"})
	require.NoError(t, os.Truncate(filepath.Join(root, "sparse.txt"), 1<<40))
	k := newKit(t, builtin.Options{Root: root})
	require.Contains(t, k.ok("read_file", map[string]any{"path": "sparse.txt", "offset": 2}), "line 2 is cut after 262144 bytes")
	require.Contains(t, k.fails("read_file", map[string]any{"path": "sparse.txt", "offset": 3}), "more than 1024 MiB into the file")
}

func TestAttackFileToolsEndWithTheirContext(t *testing.T) {
	root := tree(t, map[string]string{"sparse.txt": "first\n" + strings.Repeat("text", 5000), "b.txt": "needle\n"})
	require.NoError(t, os.Truncate(filepath.Join(root, "sparse.txt"), 1<<40))
	k := newKit(t, builtin.Options{Root: root})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, args := range map[string]string{
		"read_file":    `{"path":"sparse.txt","offset":3}`,
		"search_files": `{"path":"b.txt","query":"needle"}`,
		"list_files":   `{"recursive":true}`,
	} {
		_, err := tool.Run(ctx, k.tools[name], args)
		require.ErrorIs(t, err, context.Canceled, name)
	}
}
