package attempt

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A folder keeps the newest results up to its size limit, and does not remove other files.
func TestFolderIsBounded(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "notes.txt"), make([]byte, 1000), 0o600))
	f, err := openFolder(dir)
	require.NoError(t, err)
	f.bytes = 250
	for i, key := range []string{"tool-a", "tool-b", "tool-c", "tool-d"} {
		require.NoError(t, f.write(key, []byte(strings.Repeat(key[5:], 100))))
		at := time.Now().Add(time.Duration(i-10) * time.Minute)
		require.NoError(t, os.Chtimes(f.path(key), at, at))
	}
	require.NoError(t, f.prune())
	for key, want := range map[string]int{"tool-a": 0, "tool-b": 0, "tool-c": 100, "tool-d": 100} {
		data, err := f.read(key)
		require.NoError(t, err)
		require.Len(t, data, want, key)
	}

	old := time.Now().Add(-folderAge - time.Hour)
	require.NoError(t, os.Chtimes(f.path("tool-c"), old, old))
	data, err := f.read("tool-c")
	require.NoError(t, err)
	require.Empty(t, data, "too old")
	require.NoError(t, os.WriteFile(filepath.Join(dir, temporaryPrefix+"1"), nil, 0o600))
	require.NoError(t, os.Chtimes(filepath.Join(dir, temporaryPrefix+"1"), old, old))
	_, err = openFolder(dir)
	require.NoError(t, err)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	require.Equal(t, []string{"notes.txt", "tool-d" + fileSuffix}, names)
}

// The key of an effect comes from a workflow. It cannot name a file outside of the folder.
func TestFolderIsNotLeft(t *testing.T) {
	f, err := openFolder(filepath.Join(t.TempDir(), "keep"))
	require.NoError(t, err)
	for _, key := range []string{"", "..", "../tool-a", "tool-a/b", "/tool-a", "tool-" + strings.Repeat("a", 1000)} {
		require.Error(t, f.write(key, []byte("data")), key)
		data, err := f.read(key)
		require.NoError(t, err)
		require.Empty(t, data)
	}
}

func TestFolderThatCannotBeUsedIsAnErrorAtTheStart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := openFolder(file)
	require.ErrorContains(t, err, "the folder for results")
}
