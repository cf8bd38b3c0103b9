package builtin

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// A change that another program makes between the reading and the replacing of a file is not lost.
func TestFileThatAnotherProgramHasChangedIsNotReplaced(t *testing.T) {
	for name, c := range map[string]struct {
		before, want string // "" means that there is no file
		change       func(path string) error
	}{
		"longer": {"old", "other text", func(path string) error { return os.WriteFile(path, []byte("other text"), 0o600) }},
		"replaced": {"old", "new", func(path string) error {
			if err := os.WriteFile(path+"2", []byte("new"), 0o600); err != nil {
				return err
			}
			return os.Rename(path+"2", path)
		}},
		"removed": {"old", "", os.Remove},
		"created": {"", "new", func(path string) error { return os.WriteFile(path, []byte("new"), 0o600) }},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "f")
			r := root{Options{Root: filepath.Dir(path), MaxFileBytes: 100}, &sync.Mutex{}}
			dir, _, err := r.open("")
			require.NoError(t, err)
			defer dir.Close()
			var old *target
			if c.before != "" {
				require.NoError(t, os.WriteFile(path, []byte(c.before), 0o600))
				old, err = r.openTarget(dir, "f")
				require.NoError(t, err)
				defer old.Close()
			}
			require.NoError(t, c.change(path))
			require.ErrorContains(t, r.replace(t.Context(), dir, "f", old, "mine"), "f was not changed, because another program has changed it")
			got, _ := os.ReadFile(path)
			require.Equal(t, c.want, string(got))
			entries, err := os.ReadDir(r.Root)
			require.NoError(t, err)
			require.LessOrEqual(t, len(entries), 1, "the temporary file is removed")
		})
	}
}
