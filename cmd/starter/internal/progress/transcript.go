package progress

import (
	"fmt"
	"io"
	"strings"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/internal/proposal"
	"github.com/reagent-dev/reagent/llm"
)

// Transcript prints the messages of a transcript for people.
type Transcript struct {
	out   io.Writer
	prose func(text string) string
	calls map[string]string // the names of the tools, by the ID of the printed call
	// Clock measures the steps.
	Clock Clock
	// Models says that the times of model calls are printed, too, and not only those of tool calls.
	Models bool
}

// NewTranscript returns a Transcript that writes to out. `prose` makes the texts of the model ready to write: see [screen.Prose].
func NewTranscript(out io.Writer, prose func(text string) string) *Transcript {
	return &Transcript{out: out, prose: prose, calls: map[string]string{}}
}

// Message prints one message. The messages must come in the order of the transcript, because a result is printed with the name
// of its call.
func (p *Transcript) Message(m agent.Message) {
	took := tookText(p.Clock.Took(m))
	switch m.Role {
	case llm.User:
		fmt.Fprintf(p.out, "> %s\n", strings.ReplaceAll(printable.Text(m.Content), "\n", "\n> "))
	case llm.Tool:
		fmt.Fprintf(p.out, "  %s → %s%s\n", p.calls[m.ToolCallID], printable.Line(m.Content, 200), took)
	default:
		if m.Content != "" {
			fmt.Fprintln(p.out, p.prose(m.Content))
		}
		if p.Models && took != "" {
			fmt.Fprintf(p.out, "  model%s\n", took)
		}
		for _, c := range m.ToolCalls {
			name := printable.Line(c.Name, 100)
			p.calls[c.ID] = name
			fmt.Fprintf(p.out, "  %s %s\n", name, proposal.Summary(c.Name, c.Arguments, 200))
		}
	}
}
