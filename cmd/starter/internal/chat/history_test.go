package chat

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a person typed in an earlier chat comes back with Up, also in a chat with another agent, after what was said in this one. Only the user
// can read the file.
func TestTypedTextsOutliveTheChat(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "chat-history")
	open := func() *stage {
		history, err := OpenHistory(path)
		require.NoError(t, err)
		s := newStage(t, true)
		s.m.o.History = history
		s.report(idle)
		return s
	}
	s := open()
	s.keys("one", "enter", "two", "alt+enter", "lines", "enter", "/help", "enter", "one", "enter", "/nonsense", "enter")
	if runtime.GOOS != "windows" {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	}
	s = open()
	s.says(user("said here"), reply("yes"))
	for _, want := range []string{"> said here\n", "> one\n", "> /help\n", "> two\n> lines\n"} {
		s.keys("up")
		s.shows(want + "Enter sends this earlier text")
	}
	s.keys("down", "down")
	s.shows("> one\n")
}

// The history is bounded: in the number of texts, in the size of a text, and in the size of the file. A file that cannot be read or written
// is an error, which does not end the chat.
func TestHistoryIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "chat-history")
	h, err := OpenHistory(path)
	require.NoError(t, err)
	require.NoError(t, h.keep(strings.Repeat("x", maxHistoryText+1)))
	require.NoFileExists(t, path)
	for i := range maxHistory + 5 {
		require.NoError(t, h.keep(fmt.Sprint(i)))
	}
	h, err = OpenHistory(path)
	require.NoError(t, err)
	require.Len(t, h.texts, maxHistory)
	require.Equal(t, "5", h.texts[0])
	require.NoError(t, os.WriteFile(path, []byte("no JSON\n\"a\"\n12\n\"\"\n\"b"), 0o600))
	h, err = OpenHistory(path)
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, h.texts)

	for range 150 {
		require.NoError(t, h.keep(strings.Repeat("y", maxHistoryText)))
	}
	h, err = OpenHistory(path)
	require.NoError(t, err)
	require.NotEmpty(t, h.texts)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(maxHistoryFile))

	_, err = OpenHistory(filepath.Dir(path))
	require.ErrorContains(t, err, "read the history of the chat")
	s := newStage(t, true)
	s.m.o.History = &History{path: filepath.Join(path, "no-folder")}
	s.keys("hi", "enter")
	s.shows("What you type is not kept for later chats:")
	require.Equal(t, []string{"send talk steer=true: hi"}, s.asked)
}
