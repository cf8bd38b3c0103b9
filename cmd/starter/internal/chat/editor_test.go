package chat

import (
	"errors"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTextOfTheEditorIsInTheInput(t *testing.T) {
	s := newStage(t, true)
	s.report(idle)
	s.keys("draft")
	s.event(editedMsg{text: "one\ntwo"})
	s.shows("> one\n> two\n")
	require.Empty(t, s.asked, "Enter sends it")
	s.event(editedMsg{err: errors.New("no editor \x1b[2J")})
	s.shows("The input is as before:\n  no editor \\x1b[2J", "> one\n> two\n")
	s.keys("enter")
	require.Equal(t, []string{"send talk steer=false: one\ntwo"}, s.asked)
}

// The editor may have arguments, and the path of the file may have any characters.
func TestEditorIsACommand(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no shell")
	}
	t.Setenv("TMPDIR", t.TempDir())
	path, err := scratch("a b c")
	require.NoError(t, err)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.NoError(t, editorCommand(t.Context(), "sed -i 's/b/& $HOME/'", path).Run())
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "a b $HOME c", string(text))
}
