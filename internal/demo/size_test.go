package demo

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSizeCountsFilesOfAKindBelowTheFolder(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"a.go": "1\n2\n", "sub/b.go": "1\n", "sub/c.txt": "1\n", ".git/d.go": "1\n",
	} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	outside := filepath.Join(t.TempDir(), "e.go")
	require.NoError(t, os.WriteFile(outside, []byte("1\n"), 0o600))
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "e.go")))

	s, err := sizeOf(t.Context(), dir, ".go")
	require.NoError(t, err)
	require.Equal(t, "2 files ending in .go with 3 lines", s.String())
	s, err = sizeOf(t.Context(), dir, "")
	require.NoError(t, err)
	require.Equal(t, "3 files with 4 lines", s.String())
}
