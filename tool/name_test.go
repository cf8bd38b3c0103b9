package tool

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Models accept the name, it is not taken, and the same tool always has the same name.
func TestModelNameIsAcceptedAndUnique(t *testing.T) {
	t.Parallel()
	free := func(string) bool { return false }
	require.Equal(t, "read_file", ModelName("read_file", free))
	require.Equal(t, "notes_read", ModelName("notes.read", free))
	require.Equal(t, "notes_read", ModelName("notes/read", free))
	taken := map[string]bool{"notes_read": true}
	names := []string{"notes.read", "notes/read", "", "日本", strings.Repeat("x", 65), strings.Repeat("x", 66), strings.Repeat("é.", 60)}
	for range 2 {
		for _, name := range names {
			mapped := ModelName(name, func(s string) bool { return taken[s] })
			require.True(t, validName(mapped), "%q: %q", name, mapped)
			require.Equal(t, mapped, ModelName(name, func(s string) bool { return taken[s] }))
		}
	}
	seen := map[string]bool{"notes_read": true}
	for _, name := range names {
		mapped := ModelName(name, func(s string) bool { return seen[s] })
		require.False(t, seen[mapped], "%q: %q", name, mapped)
		seen[mapped] = true
	}
}
