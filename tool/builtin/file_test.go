package builtin_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/tool/builtin"
)

// tree writes files into a new folder and returns the path of the folder. It also writes a file outside of the folder.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	base := t.TempDir()
	root := filepath.Join(base, "root")
	require.NoError(t, os.WriteFile(filepath.Join(base, "secret.txt"), []byte("top secret"), 0o600))
	require.NoError(t, os.Mkdir(root, 0o700))
	for name, text := range files {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return root
}

func TestNothingOutsideTheRootIsRead(t *testing.T) {
	root := tree(t, map[string]string{"in.txt": "inside"})
	require.NoError(t, os.Symlink("../secret.txt", filepath.Join(root, "link")))
	require.NoError(t, os.Symlink(filepath.Dir(root), filepath.Join(root, "up")))
	require.NoError(t, os.Symlink("in.txt", filepath.Join(root, "inner")))
	k := newKit(t, builtin.Options{Root: root})

	for _, path := range []string{"../secret.txt", "link", "up/secret.txt", "x/../../secret.txt", "/../secret.txt"} {
		got := k.fails("read_file", map[string]any{"path": path})
		require.Contains(t, got, "outside of the folder", path)
		require.NotContains(t, got, root)
	}
	for _, path := range []string{"..", "up"} {
		k.fails("list_files", map[string]any{"path": path})
		k.fails("search_files", map[string]any{"path": path, "query": "secret"})
	}
	require.Equal(t, "inside", k.ok("read_file", map[string]any{"path": "inner"}))
	require.NotContains(t, k.ok("search_files", map[string]any{"query": "secret"}), "top")
	require.Contains(t, k.ok("list_files", map[string]any{"recursive": true}), "up (link)\n")
}

// A model that has seen an absolute path, for example as the output of pwd, uses it. It means this file and no other.
func TestAbsolutePathIsTheFileThatItNames(t *testing.T) {
	root := tree(t, map[string]string{"src/in.txt": "inside"})
	link := filepath.Join(filepath.Dir(root), "link")
	require.NoError(t, os.Symlink("root", link))
	for _, configured := range []string{root, link} {
		k := newKit(t, builtin.Options{Root: configured})
		for _, folder := range []string{configured, root} {
			file := filepath.Join(folder, "src", "in.txt")
			require.Equal(t, "inside", k.ok("read_file", map[string]any{"path": file}))
			require.Contains(t, k.ok("list_files", map[string]any{"path": folder}), "src/\n")
			require.Contains(t, k.ok("search_files", map[string]any{"path": folder + "/src/", "query": "ins"}), "src/in.txt:1: inside")
			require.Contains(t, k.ok("write_file", map[string]any{"path": filepath.Join(folder, "new.txt"), "content": "a"}), " new.txt")
			k.ok("edit_file", map[string]any{"path": filepath.Join(folder, "new.txt"), "old": "a", "new": "b"})
			require.Equal(t, map[string]string{"src/in.txt": "inside", "new.txt": "b"}, files(t, root))
			require.NoError(t, os.Remove(filepath.Join(root, "new.txt")))
		}
		for _, path := range []string{"/elsewhere/n.txt", "/src/in.txt", root + "x/n.txt", root + "/../n.txt", "//" + "n.txt"} {
			for tool, args := range map[string]map[string]any{
				"read_file": {}, "list_files": {}, "search_files": {"query": "a"}, "write_file": {"content": "a"}, "edit_file": {"old": "a", "new": "b"},
			} {
				args["path"] = path
				require.Contains(t, k.fails(tool, args), "paths are relative to this working folder", tool+" "+path)
			}
		}
		for _, path := range []string{"/", ""} {
			require.Equal(t, "src/\n", k.ok("list_files", map[string]any{"path": path}))
		}
	}
	require.Equal(t, map[string]string{"src/in.txt": "inside"}, files(t, root))
	require.NoFileExists(t, filepath.Join(filepath.Dir(root), "n.txt"))
}

func TestListFiles(t *testing.T) {
	files := map[string]string{"b.go": "12345", "a.txt": "", "src/x.go": "1", "src/deep/y.go": "", "src/deep/z.txt": ""}
	k := newKit(t, builtin.Options{Root: tree(t, files)})
	require.Equal(t, "a.txt (0)\nb.go (5)\nsrc/\n", k.ok("list_files", nil))
	require.Equal(t, "src/deep/\nsrc/x.go (1)\n", k.ok("list_files", map[string]any{"path": "src/"}))
	require.Equal(t, "b.go (5)\nsrc/deep/y.go (0)\nsrc/x.go (1)\n", k.ok("list_files", map[string]any{"glob": "*.go", "recursive": true}))
	require.Equal(t, "b.go (5)\nsrc/deep/y.go (0)\nsrc/x.go (1)\n", k.ok("list_files", map[string]any{"glob": "**/*.go"}))
	require.Equal(t, "src/deep/y.go (0)\n", k.ok("list_files", map[string]any{"glob": "src/*/*.go"}))
	require.Equal(t, "src/deep/z.txt (0)\n", k.ok("list_files", map[string]any{"path": "src", "glob": "**/*.txt"}))
	require.Equal(t, "[no entries]\n", k.ok("list_files", map[string]any{"glob": "*.rs"}))
	require.Equal(t, "a.txt (0)\n[there are more than 1 entries: use a glob, another folder, or a limit]\n", k.ok("list_files", map[string]any{"limit": 1}))

	require.Contains(t, k.fails("list_files", map[string]any{"path": "none"}), "none does not exist")
	require.Contains(t, k.fails("list_files", map[string]any{"path": "b.go"}), "is a file")
	require.Contains(t, k.fails("list_files", map[string]any{"glob": "["}), "syntax error")
}

func TestReadFileTellsWhereToGoOn(t *testing.T) {
	var text strings.Builder
	for n := 1; n <= 5000; n++ {
		fmt.Fprintf(&text, "line %d\n", n)
	}
	k := newKit(t, builtin.Options{Root: tree(t, map[string]string{
		"long.txt": text.String(), "wide.txt": strings.Repeat("x", 600<<10) + "\nnext\n", "empty": "", "tail": "a\nb", "bin": "a\x00b", "latin": "caf\xe9",
	})})
	read := func(args map[string]any) string { return k.ok("read_file", args) }

	first := read(map[string]any{"path": "long.txt"})
	require.True(t, strings.HasPrefix(first, "line 1\nline 2\n"))
	require.True(t, strings.HasSuffix(first, "line 2000\n[lines 1 to 2000; there is more: continue with offset 2001]\n"))
	require.Equal(t, "line 4999\nline 5000\n", read(map[string]any{"path": "long.txt", "offset": 4999, "limit": 2}))
	require.Equal(t, "line 7\n[lines 7 to 7; there is more: continue with offset 8]\n", read(map[string]any{"path": "long.txt", "offset": 7, "limit": 1}))
	require.Contains(t, k.fails("read_file", map[string]any{"path": "long.txt", "offset": 5001}), "has 5000 lines")
	require.Contains(t, k.fails("read_file", map[string]any{"path": "long.txt", "offset": 9999}), "has 5000 lines")

	wide := read(map[string]any{"path": "wide.txt"})
	require.Less(t, len(wide), 257<<10)
	require.Contains(t, wide, "line 1 is cut after 262144 bytes; there is more: continue with offset 2")
	require.Equal(t, "next\n", read(map[string]any{"path": "wide.txt", "offset": 2}))

	require.Equal(t, "a\nb", read(map[string]any{"path": "tail"}))
	require.Equal(t, "[the file is empty]\n", read(map[string]any{"path": "empty"}))
	require.Equal(t, "caf\uFFFD", read(map[string]any{"path": "latin"}))
	require.Contains(t, k.fails("read_file", map[string]any{"path": "bin"}), "binary file of 3 bytes")
	require.Contains(t, k.fails("read_file", map[string]any{"path": "."}), "is a folder")
	require.Contains(t, k.fails("read_file", map[string]any{"path": "none"}), "does not exist")
}

func TestSearchFiles(t *testing.T) {
	k := newKit(t, builtin.Options{MaxFileBytes: 10_000, Root: tree(t, map[string]string{
		"a.go":        "package a\nfunc One() {}\n",
		"sub/b.go":    "package b\r\nfunc Two() {} // a.b\r\n",
		"c.txt":       "func three " + strings.Repeat("x", 1000),
		"bin":         "func\x00",
		"large":       strings.Repeat("func\n", 3000),
		".git/config": "func hidden",
	})})
	search := func(args map[string]any) string { return k.ok("search_files", args) }
	const passed = "[not searched: 1 binary files, 1 that are too large or cannot be read]\n"

	require.Equal(t, "a.go:2: func One() {}\nsub/b.go:2: func Two() {} // a.b\n"+passed, search(map[string]any{"query": `^func [A-Z]\w+`}))
	require.Equal(t, "sub/b.go:2: func Two() {} // a.b\n"+passed, search(map[string]any{"query": "a.b", "literal": true}))
	require.Equal(t, "sub/b.go:1: package b\n", search(map[string]any{"query": "PACKAGE", "ignore_case": true, "path": "sub"}))
	require.Equal(t, "a.go:1: package a\n", search(map[string]any{"query": "package", "glob": "a.*"}))
	require.Equal(t, "a.go:1: package a\n", search(map[string]any{"query": "package", "path": "a.go"}))
	require.Equal(t, "[no matches]\n", search(map[string]any{"query": "none", "glob": "*.go"}))
	require.Contains(t, search(map[string]any{"query": "func", "glob": "*.go", "max_matches": 1}), "there are more than 1 matches")
	require.Contains(t, search(map[string]any{"query": "func", "path": "a.go", "max_matches": 1}), "One")
	require.Less(t, len(search(map[string]any{"query": "three"})), 500)
	require.Contains(t, k.fails("search_files", map[string]any{"query": "("}), "set literal")
	require.Contains(t, k.fails("search_files", map[string]any{"query": ""}), "empty")
}
