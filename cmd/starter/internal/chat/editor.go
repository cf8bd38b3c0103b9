package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// editedMsg has the text that the person has written in an editor.
type editedMsg struct {
	text string
	err  error
}

// editMsg has the path of the file that an editor is to open.
type editMsg struct{ path string }

// edit writes the text of the input to a file for the editor of the person.
func (m *model) edit() tea.Cmd {
	text := m.typed()
	return func() tea.Msg {
		path, err := scratch(text)
		if err != nil {
			return editedMsg{err: err}
		}
		return editMsg{path}
	}
}

// openEditor opens a file in the editor of the person. The terminal belongs to the editor meanwhile.
func openEditor(ctx context.Context, path string) tea.Cmd {
	editor := cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR"), "vi")
	return tea.ExecProcess(editorCommand(ctx, editor, path), func(err error) tea.Msg {
		defer os.Remove(path)
		if err != nil {
			return editedMsg{err: fmt.Errorf("%s: %w; set EDITOR to an editor that runs in a terminal", editor, err)}
		}
		text, err := os.ReadFile(path)
		return editedMsg{strings.TrimRight(string(text), "\n"), err}
	})
}

// scratch returns the path of a new file with a text, which only the user can read.
func scratch(text string) (string, error) {
	file, err := os.CreateTemp("", "reagent-message-*.md")
	if err != nil {
		return "", err
	}
	_, err = file.WriteString(text)
	if err = errors.Join(err, file.Close()); err != nil {
		os.Remove(file.Name())
	}
	return file.Name(), err
}

// editorCommand returns the command that edits a file. The editor may have arguments, such as "code --wait". On Unix, it is a command of the
// shell, as git takes it.
func editorCommand(ctx context.Context, editor, path string) *exec.Cmd {
	if runtime.GOOS == "windows" {
		words := append(strings.Fields(editor), path)
		return exec.CommandContext(ctx, words[0], words[1:]...) //nolint:gosec // the person has set the editor
	}
	return exec.CommandContext(ctx, "sh", "-c", editor+` "$1"`, editor, path) //nolint:gosec // the person has set the editor
}

// edited puts the text of the editor into the input. The person can read it again before Enter sends it.
func (m *model) edited(msg editedMsg) {
	if msg.err != nil {
		m.trouble("The input is as before:", msg.err)
		return
	}
	m.recalled = 0
	m.input.SetValue(m.pasted(msg.text))
}
