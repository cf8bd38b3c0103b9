package demo

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStandInQuotesWhatTheFileSays(t *testing.T) {
	require.Equal(t, "a.go begins with “package p // It does one thing.”.",
		reader(1, "a.go", []string{"", "package p\n\n// It does one thing.\n"}).Message.Content)
}

// A user may send anything to the agents of a demo that was kept, and a tool may fail.
func TestStandInHasAReplyAtEachStep(t *testing.T) {
	for step := range 6 {
		for _, results := range [][]string{{""}, {"", "one", "two", "three"}} {
			require.NoError(t, guide(step, "a.go", results).Validate())
			require.NoError(t, reader(step, "a.go", results).Validate())
		}
	}
}

func TestStandInReadsTheReadmeElseTheFirstFile(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("a", 0o755))
	for _, name := range []string{".b", "c"} {
		require.NoError(t, os.WriteFile(name, nil, 0o600))
	}
	_, _, err := fileHere()
	require.ErrorContains(t, err, "the current folder has no files")
	for _, name := range []string{"d.txt", "readme.md"} {
		require.NoError(t, os.WriteFile(name, []byte("x"), 0o600))
		_, file, err := fileHere()
		require.NoError(t, err)
		require.Equal(t, name, file)
	}
}
