package chat

import (
	"io"

	tea "charm.land/bubbletea/v2"
)

// suspension is a [tea.ExecCommand] that suspends this program until the shell brings it back. tea.Suspend would wait forever if no shell
// controls the program, as in a container: the system does not stop such a program, so nobody brings it back.
type suspension struct{}

type resumedMsg struct{}

// suspend suspends this program. The terminal belongs to the shell meanwhile.
func (m *model) suspend() tea.Cmd {
	return tea.Exec(suspension{}, func(error) tea.Msg { return resumedMsg{} })
}

// Run suspends the program and returns when it goes on.
func (suspension) Run() error { return stop() }

// SetStdin implements [tea.ExecCommand].
func (suspension) SetStdin(io.Reader) {}

// SetStdout implements [tea.ExecCommand].
func (suspension) SetStdout(io.Writer) {}

// SetStderr implements [tea.ExecCommand].
func (suspension) SetStderr(io.Writer) {}
