package builtin_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/tool"
	"github.com/reagent-dev/reagent/tool/builtin"
)

// files returns the content of all files below a folder, by path.
func files(t *testing.T, folder string) map[string]string {
	t.Helper()
	found := map[string]string{}
	require.NoError(t, filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(folder, path)
		found[name] = string(data)
		return err
	}))
	return found
}

func TestWriteFileCreatesFilesAndReplacesTheirContent(t *testing.T) {
	root := tree(t, map[string]string{"a.txt": "old"})
	k := newKit(t, builtin.Options{Root: root})
	write := func(path, content string) string {
		return k.ok("write_file", map[string]any{"path": path, "content": content})
	}
	require.Equal(t, "created new/deep/b.txt with 13 bytes in 3 lines\n", write("new/deep/b.txt", "one\ntwo\nthree"))
	require.Equal(t, "replaced the content of a.txt: it has now 3 bytes in 1 line, and had 3 bytes before\n", write("./a.txt", "new"))
	require.Equal(t, "a.txt already has this content: 3 bytes in 1 line\n", write("a.txt", "new"))
	require.Equal(t, "created empty with 0 bytes in 0 lines\n", write("empty", ""))
	require.Equal(t, map[string]string{"a.txt": "new", "empty": "", "new/deep/b.txt": "one\ntwo\nthree"}, files(t, root))
}

// An idempotent tool may run again. The second run must leave the file as the first run has left it.
func TestSecondRunOfAWriteChangesNothing(t *testing.T) {
	root := tree(t, nil)
	k := newKit(t, builtin.Options{Root: root})
	args := map[string]any{"path": "a.txt", "content": "text"}
	k.ok("write_file", args)
	first, err := os.Stat(filepath.Join(root, "a.txt"))
	require.NoError(t, err)
	k.ok("write_file", args)
	second, err := os.Stat(filepath.Join(root, "a.txt"))
	require.NoError(t, err)
	require.True(t, os.SameFile(first, second))
	require.Equal(t, first.ModTime(), second.ModTime())
}

func TestEditFileReplacesTheOnlyPlace(t *testing.T) {
	for name, c := range map[string]struct{ text, old, new, want, says string }{
		"in a line":       {"a b c\n", "b", "B", "a B c\n", "changed f: the new text begins on line 1; the file has now 6 bytes in 1 line\n"},
		"lines":           {"1\n2\n3\n", "2\n", "two\nand more\n", "1\ntwo\nand more\n3\n", "changed f: the new text is on lines 2 to 3; the file has now 17 bytes in 4 lines\n"},
		"deleted":         {"1\n2\n3", "2\n", "", "1\n3", "changed f: deleted 2 bytes from line 2 on; the file has now 3 bytes in 2 lines\n"},
		"at the end":      {"1\n2", "2", "2\n3\n", "1\n2\n3\n", "changed f: the new text is on lines 2 to 3; the file has now 6 bytes in 3 lines\n"},
		"everything":      {"1", "1", "", "", "changed f: deleted 1 byte from line 1 on; the file has now 0 bytes in 0 lines\n"},
		"not UTF-8":       {"caf\xe9 b", "b", "B", "caf\xe9 B", "changed f: the new text begins on line 1; the file has now 6 bytes in 1 line\n"},
		"white space":     {"\tx\n z\n\n", "\tx", "\ty", "\ty\n z\n\n", "changed f: the new text begins on line 1; the file has now 7 bytes in 3 lines\n"},
		"carriage return": {"1\r\n2\r\n", "1\r\n", "one\r\n", "one\r\n2\r\n", "changed f: the new text begins on line 1; the file has now 8 bytes in 2 lines\n"},
	} {
		t.Run(name, func(t *testing.T) {
			root := tree(t, map[string]string{"f": c.text})
			k := newKit(t, builtin.Options{Root: root})
			require.Equal(t, c.says, k.ok("edit_file", map[string]any{"path": "f", "old": c.old, "new": c.new}))
			require.Equal(t, map[string]string{"f": c.want}, files(t, root))
		})
	}
}

func TestEditFileRefusesWhatIsAmbiguousAndSaysWhere(t *testing.T) {
	start := map[string]string{
		"f": "one\ntwo\none\n", "aaa": "aaa", "many": strings.Repeat("x\n", 1000), "dos": "1\r\n2\r\n", "bin": "a\x00b", "large": strings.Repeat("y", 2000) + "z",
	}
	root := tree(t, start)
	k := newKit(t, builtin.Options{Root: root, MaxFileBytes: 2000})
	for _, c := range []struct{ path, old, new, want string }{
		{"f", "three", "3", "old does not occur in f: read the file"},
		{"f", "one", "1", "old occurs 2 times in f, on lines 1, 3: add lines around it"},
		{"aaa", "aa", "b", "old occurs 2 times in aaa, on lines 1, 1"},
		{"many", "x\n", "", "old occurs more than 10 times in many, on lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and further on"},
		{"dos", "1\n2", "3", `lines of this file end with \r\n`},
		{"f", "", "x", "old is empty"},
		{"f", "one", "one", "old and new are equal"},
		{"bin", "a", "b", "bin is a binary file"},
		{"large", "z", "", "the limit is 2000"},
		{"f", "two", strings.Repeat("2", 2000), "f would have 2009 bytes; the limit is 2000"},
		{"none", "a", "b", "none does not exist"},
		{".", "a", "b", ". is a folder"},
	} {
		require.Contains(t, k.fails("edit_file", map[string]any{"path": c.path, "old": c.old, "new": c.new}), c.want)
	}
	require.Contains(t, k.fails("write_file", map[string]any{"path": "f", "content": strings.Repeat("x", 2001)}), "f would have 2001 bytes; the limit is 2000")
	require.Equal(t, start, files(t, root))
}

func TestAttackNothingOutsideTheRootIsWritten(t *testing.T) {
	root := tree(t, map[string]string{"in.txt": "inside"})
	base := filepath.Dir(root)
	require.NoError(t, os.Symlink("../secret.txt", filepath.Join(root, "link")))
	require.NoError(t, os.Symlink("../new.txt", filepath.Join(root, "dangling")))
	require.NoError(t, os.Symlink(base, filepath.Join(root, "up")))
	require.NoError(t, os.Symlink("in.txt", filepath.Join(root, "inner")))
	pipe(t, filepath.Join(root, "pipe"))
	before := files(t, base)
	k := newKit(t, builtin.Options{Root: root})
	for path, want := range map[string]string{
		"../secret.txt": "outside of the folder", "../new.txt": "outside of the folder", "x/../../new.txt": "outside of the folder",
		"up/secret.txt": "outside of the folder", "up/new.txt": "outside of the folder", "up/new/deep.txt": "",
		"link": "is a symbolic link", "dangling": "is a symbolic link", "inner": "is a symbolic link",
		"": "is a folder", "/": "is a folder", "..": "", "pipe": "is not a regular file", "in.txt/below": "", "a\x00b": "", strings.Repeat("x", 300): "",
	} {
		got := k.fails("write_file", map[string]any{"path": path, "content": "top secret"})
		require.Contains(t, got, want, path)
		require.NotContains(t, got, base, path)
		got = k.fails("edit_file", map[string]any{"path": path, "old": "top", "new": "bottom"})
		require.NotContains(t, got, base, path)
	}
	require.Equal(t, before, files(t, base))
}

// A model that could write these files could change its own configuration, or the server to which the worker connects.
func TestAttackSecretAndProtectedFilesAreNotWrittenUnderAnyName(t *testing.T) {
	root := tree(t, map[string]string{"keys/main": "sk-1", "agents.yaml": "agents", "b.txt": "nothing"})
	in := func(name string) string { return filepath.Join(root, name) }
	require.NoError(t, os.Symlink("keys", in("folder")))
	require.NoError(t, os.Link(in("keys/main"), in("hard")))
	require.NoError(t, os.Link(in("agents.yaml"), in("hard.yaml")))
	before := files(t, root)
	k := newKit(t, builtin.Options{
		Root: root, Secret: []string{in("keys/main"), in("keys/not-there-yet")}, Protected: []string{in("agents.yaml"), in("later.yaml")},
	})
	for _, path := range []string{
		"keys/main", "folder/main", "hard", "keys/not-there-yet", "folder/not-there-yet", "keys/NOT-there-yet",
		"agents.yaml", "hard.yaml", "./x/../agents.yaml", "later.yaml", "Later.yaml",
	} {
		require.Contains(t, k.fails("write_file", map[string]any{"path": path, "content": "x"}), "may not be", path)
		k.fails("edit_file", map[string]any{"path": path, "old": "s", "new": "x"})
	}
	require.Equal(t, before, files(t, root))
	require.Equal(t, "agents", k.ok("read_file", map[string]any{"path": "agents.yaml"}), "a protected file may be read")
}

func TestReplacedFileKeepsItsPermissionBits(t *testing.T) {
	root := tree(t, map[string]string{"run.sh": "old"})
	path := filepath.Join(root, "run.sh")
	k := newKit(t, builtin.Options{Root: root})
	for _, mode := range []os.FileMode{0o755, 0o600, 0o640} {
		require.NoError(t, os.Chmod(path, mode))
		k.ok("write_file", map[string]any{"path": "run.sh", "content": fmt.Sprint("written ", mode)})
		k.ok("edit_file", map[string]any{"path": "run.sh", "old": "written", "new": "edited"})
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode())
	}
	require.NoError(t, os.Chmod(path, 0o400))
	if os.Geteuid() == 0 {
		t.Skip("root may write every file")
	}
	require.Contains(t, k.fails("write_file", map[string]any{"path": "run.sh", "content": "x"}), "permission denied")
}

// Other programs never see a part of a file. Calls in parallel do not lose each other's changes.
func TestChangesAreWholeAndNoneIsLost(t *testing.T) {
	const writers, size = 8, 100_000
	texts := map[string]bool{strings.Repeat("-", size): true}
	lines := ""
	for i := range writers {
		texts[strings.Repeat(string(rune('a'+i)), size)] = true
		lines += fmt.Sprintf("line %d.\n", i)
	}
	root := tree(t, map[string]string{"whole": strings.Repeat("-", size), "lines": lines})
	k := newKit(t, builtin.Options{Root: root})
	var wait sync.WaitGroup
	for i := range writers {
		wait.Go(func() {
			for _, call := range []struct{ tool, args string }{
				{"write_file", fmt.Sprintf(`{"path":"whole","content":%q}`, strings.Repeat(string(rune('a'+i)), size))},
				{"edit_file", fmt.Sprintf(`{"path":"lines","old":"line %d.","new":"LINE %d."}`, i, i)},
			} {
				if res, err := tool.Run(t.Context(), k.tools[call.tool], call.args); err != nil || res.IsError {
					t.Errorf("%s: %v %v", call.tool, res.Content, err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { wait.Wait(); close(done) }()
	for reading := true; reading; {
		select {
		case <-done:
			reading = false
		default:
		}
		data, err := os.ReadFile(filepath.Join(root, "whole"))
		require.NoError(t, err)
		require.True(t, texts[string(data)], "a part of a file was visible")
	}
	left := files(t, root)
	require.Len(t, left, 2, "no temporary file is left")
	require.Equal(t, strings.ReplaceAll(lines, "line", "LINE"), left["lines"])
}

func TestCancelledWriteChangesNothing(t *testing.T) {
	start := map[string]string{"a": "old"}
	root := tree(t, start)
	k := newKit(t, builtin.Options{Root: root})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := tool.Run(ctx, k.tools["write_file"], `{"path":"a","content":"new"}`)
	require.ErrorIs(t, err, context.Canceled)
	_, err = tool.Run(ctx, k.tools["edit_file"], `{"path":"a","old":"old","new":"new"}`)
	require.ErrorIs(t, err, tool.ErrNotRun)
	require.Equal(t, start, files(t, root))
}
