package chat

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/require"
)

// inFolder returns a chat in a folder with some files.
func inFolder(t *testing.T) *stage {
	s := newStage(t, true)
	s.m.o.Files = t.TempDir()
	for name, text := range map[string]string{
		"notes.md": "one\ntwo\n", "now.txt": "now", "my plan.md": "plan", "docs/design.md": "design", ".hidden": "x", "bad\x1b[2J.md": "x", "data.bin": "a\x00b",
		"large.txt": strings.Repeat("x", maxAttached+1),
	} {
		path := filepath.Join(s.m.o.Files, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	s.report(idle)
	return s
}

func TestCommandsAreCompleted(t *testing.T) {
	for _, size := range sizes {
		s := newStage(t, true)
		s.event(size)
		s.report(idle)
		s.keys("/")
		s.shows("» /aside QUESTION", "  /approve [CALL]", "Tab completes · Up Down select")
		s.keys("up")
		s.shows("» /help", "  /quit")
		s.keys("backspace", "/per")
		s.shows("» /permissions", "\n> /per\n")
		require.NotContains(t, s.screen(), "/aside")
		s.keys("tab")
		s.shows("\n> /permissions\n")
		s.keys("enter")
		s.shows("The agent has no permissions")
		s.keys("/cos", "enter")
		s.shows("\n> /cost\n")
		s.keys("esc", "/c", "esc")
		require.NotContains(t, s.screen(), "» /cost")
		s.keys("esc")
		s.shows("> Type a message")
		s.keys("not /a")
		require.NotContains(t, s.screen(), "/aside", "a command is at the beginning")
		require.Empty(t, s.asked)
	}
}

func TestFilesAreCompleted(t *testing.T) {
	for _, size := range sizes {
		s := inFolder(t)
		s.event(size)
		s.keys("read @")
		s.shows("» data.bin\n  docs/\n  large.txt\n  my plan.md\n")
		require.NotContains(t, s.screen(), "hidden")
		require.NotContains(t, s.screen(), "bad")
		s.keys("no")
		s.shows("» notes.md\n  now.txt\n")
		s.keys("down", "enter")
		s.shows("\n> read @now.txt\n")
		s.keys("and @d", "down", "tab")
		s.shows("» docs/design.md\n", "\n> read @now.txt and @docs/\n")
		s.keys("tab", "@my", "tab")
		require.Equal(t, "read @now.txt and @docs/design.md @\"my plan.md\" ", s.m.input.Value())
		s.keys("@no", "enter", "enter")
		require.Len(t, s.asked, 1, "Enter sends, unless a file was selected; the second one because @no is no file")
	}
}

// A message brings the files that it names. The chat shows them as a line, and the person gets back what was typed.
func TestMessageBringsFiles(t *testing.T) {
	s := inFolder(t)
	s.keys("see @notes.md, @kim and @docs.", "enter")
	const sent = "see @notes.md, @kim and @docs.\n\n<file path=\"notes.md\">\none\ntwo\n</file>"
	require.Equal(t, []string{"send talk steer=false: " + sent}, s.asked)
	s.shows("> see @notes.md, @kim and @docs.\n> [file \"notes.md\": 2 lines] (the agent reads it next)")
	m := user(sent)
	s.says(m)
	s.shows("> see @notes.md, @kim and @docs.\n> [file \"notes.md\": 2 lines]\n")
	s.keys("ctrl+o")
	s.shows("> <file path=\"notes.md\">\n> one\n> two\n> </file>\n")
	s.keys("ctrl+o", "up")
	s.shows("\n> see @notes.md, @kim and @docs.\n")
	require.NotContains(t, s.m.input.Value(), "<file")
}

// A message whose file cannot be read is not sent without it.
func TestMessageWithABadFileComesBack(t *testing.T) {
	for name, why := range map[string]string{"data.bin": "is no text in UTF-8", "large.txt": "may have 100,000 bytes"} {
		s := inFolder(t)
		s.keys("see @"+name, "enter")
		require.Empty(t, s.asked)
		s.shows("The message was not sent:", why, "\n> see @"+name+"\n")
	}
}

// A message with the name of a file that is not there comes back once. Names of people, addresses and folders are words.
func TestMisspeltFileIsAskedAbout(t *testing.T) {
	for _, name := range []string{"notse.md", "docs/desing.md", "nowhere/x", "note", "no,"} {
		s := inFolder(t)
		text := "see @" + name + " and @notes.md"
		s.keys(text, "enter")
		require.Empty(t, s.asked, name)
		s.shows("The message was not sent:", "there is no file "+strings.TrimSuffix(name, ",")[:2], "\n> see @"+name)
		s.keys("enter")
		require.Len(t, s.asked, 1, name)
		require.Equal(t, "send talk steer=false: "+text+"\n\n<file path=\"notes.md\">\none\ntwo\n</file>", s.asked[0])
	}
	for _, word := range []string{"@kim", "@kim.", "kim@example.com", "@docs", "@docs/", "@", "@...", "@kim_smith", "v1 @ 2.0", "@1.5"} {
		s := inFolder(t)
		s.keys("ask "+word+" now", "enter")
		require.Equal(t, []string{"send talk steer=false: ask " + word + " now"}, s.asked)
	}
}

// While the files of a message are read, later messages wait for it.
func TestMessageWaitsForItsFiles(t *testing.T) {
	s := inFolder(t)
	s.m.input.SetValue("see @notes.md ")
	_, cmd := s.m.Update(tea.KeyPressMsg{Code: tea.KeyEnter})
	s.keys("next", "enter")
	require.Empty(t, s.asked)
	s.run(cmd)
	require.Len(t, s.asked, 2)
	require.Contains(t, s.asked[0], "see @notes.md")
	require.Contains(t, s.asked[1], "next")
}
