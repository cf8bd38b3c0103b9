package builtin_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/tool"
	"github.com/reagent-dev/reagent/tool/builtin"
)

// Without limits, these queries took minutes for one line of 4 MiB.
func TestAttackQueryIsBounded(t *testing.T) {
	line := strings.Repeat("x", 3<<20)
	k := newKit(t, builtin.Options{Root: tree(t, map[string]string{"one-line.txt": line + "needle", "b.txt": "needle"})})
	require.Contains(t, k.fails("search_files", map[string]any{"query": "(x{0,20}y?){1,50}$"}), "repeats too much")
	require.Contains(t, k.fails("search_files", map[string]any{"query": strings.Repeat("(x+x+)+", 500)}), "the limit is 1000")
	require.Contains(t, k.fails("search_files", map[string]any{"query": "a", "glob": strings.Repeat("*a", 5000)}), "the limit is 1000")
	require.Equal(t, "b.txt:1: needle\n[1 long lines were searched in their first 32768 bytes only]\n",
		k.ok("search_files", map[string]any{"query": "(x{0,20}y?){1,3}needle$"}))
}

// A secret file must not be readable under another name.
func TestAttackSecretFileIsNotReadUnderAnyName(t *testing.T) {
	root := tree(t, map[string]string{"keys/main": "sk-top-secret", "b.txt": "nothing"})
	outside := filepath.Join(filepath.Dir(root), "outside")
	require.NoError(t, os.WriteFile(outside, []byte("sk-top-secret"), 0o600))
	require.NoError(t, os.Symlink("keys/main", filepath.Join(root, "symbolic")))
	require.NoError(t, os.Link(filepath.Join(root, "keys/main"), filepath.Join(root, "hard")))
	require.NoError(t, os.Link(outside, filepath.Join(root, "hard-outside")))
	k := newKit(t, builtin.Options{Root: root, Secret: []string{filepath.Join(root, "keys/main"), outside, filepath.Join(root, "none")}})
	for _, name := range []string{"keys/main", "symbolic", "hard", "hard-outside", "keys/../hard"} {
		require.Contains(t, k.fails("read_file", map[string]any{"path": name}), "may not be read", name)
		require.NotContains(t, k.run("search_files", map[string]any{"path": name, "query": "secret"}).Content, "sk-top")
	}
	require.Contains(t, k.ok("search_files", map[string]any{"query": "secret"}), "[no matches]")
	// A file that replaces a secret file is secret, too.
	require.NoError(t, os.Remove(filepath.Join(root, "keys/main")))
	require.NoError(t, os.WriteFile(filepath.Join(root, "keys/main"), []byte("sk-new"), 0o600))
	require.Contains(t, k.fails("read_file", map[string]any{"path": "keys/main"}), "may not be read")
}

func TestAttackFilesOfTheKernelAreNotRead(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("/proc is Linux's")
	}
	k := newKit(t, builtin.Options{Root: "/proc"})
	require.Contains(t, k.fails("read_file", map[string]any{"path": fmt.Sprintf("%d/environ", os.Getpid())}), "may not be read")
	require.NotContains(t, k.run("search_files", map[string]any{"path": fmt.Sprintf("%d/status", os.Getpid()), "query": "Name"}).Content, "Name:")
}

// A sparse file can be larger than the disk, and can have a line that is as long as the file.
func TestAttackSparseFileIsNotReadToItsEnd(t *testing.T) {
	root := tree(t, map[string]string{"sparse.txt": "first\n" + strings.Repeat("text", 5000), "b.txt": "needle\n"})
	require.NoError(t, os.Truncate(filepath.Join(root, "sparse.txt"), 1<<40))
	k := newKit(t, builtin.Options{Root: root})
	require.Contains(t, k.ok("read_file", map[string]any{"path": "sparse.txt", "offset": 2}), "line 2 is cut after 262144 bytes")
	require.Contains(t, k.fails("read_file", map[string]any{"path": "sparse.txt", "offset": 3}), "not in the first 1024 MiB of the file")
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
