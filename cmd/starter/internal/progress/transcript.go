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
	calls map[string]printedCall // the printed tool calls by call ID
}

type printedCall struct {
	name string // the tool's name
	// asked is the time of the model's reply with this call, in Unix milliseconds.
	asked int64
}

// NewTranscript returns a Transcript that writes to out. `prose` makes the texts of the model ready to write: see [screen.Prose].
func NewTranscript(out io.Writer, prose func(text string) string) *Transcript {
	return &Transcript{out: out, prose: prose, calls: map[string]printedCall{}}
}

// Message prints one message. The messages must come in the order of the transcript, because a result is printed with the name
// of its call.
func (p *Transcript) Message(m agent.Message) {
	switch m.Role {
	case llm.User:
		fmt.Fprintf(p.out, "> %s\n", strings.ReplaceAll(printable.Text(m.Content), "\n", "\n> "))
	case llm.Tool:
		call, took := p.calls[m.ToolCallID], ""
		if call.asked > 0 {
			took = tookText(m.Time - call.asked)
		}
		fmt.Fprintf(p.out, "  %s → %s%s\n", call.name, printable.Line(m.Content, 200), took)
	default:
		if m.Content != "" {
			fmt.Fprintln(p.out, p.prose(m.Content))
		}
		for _, c := range m.ToolCalls {
			name := printable.Line(c.Name, 100)
			p.calls[c.ID] = printedCall{name, m.Time}
			fmt.Fprintf(p.out, "  %s %s\n", name, proposal.Summary(c.Name, c.Arguments, 200))
		}
	}
}
