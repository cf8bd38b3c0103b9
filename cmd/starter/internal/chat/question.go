package chat

import (
	"fmt"

	"github.com/charmbracelet/x/ansi"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/printable"
)

// question returns the question that a call of [agent.AskUser] asks. It returns false for other calls, and for arguments that are no question.
func (it *item) question() (agent.Question, bool) {
	call := agent.Call{Name: it.name, Arguments: it.arguments}
	return call.Question()
}

// drawQuestion returns the lines of a question of the model and of its answer, which a person reads as text and not as arguments. While
// the question waits, it takes one line, because it stands in full below the conversation.
func (it *item) drawQuestion(q agent.Question, f form) []string {
	mark := "▸ "
	if f.expanded {
		mark = "▾ "
	}
	if !it.done && !f.expanded {
		return []string{cut(f.mark(mark)+accent.Render("Question:")+" "+printable.Line(q.Question, 400)+" …", f.width)}
	}
	const title = "Question: "
	lines := wrapped(title+q.Question, f.width-ansi.StringWidth(mark))
	for i, line := range lines {
		if i == 0 {
			lines[i] = f.mark(mark) + accent.Render(line)
		} else {
			lines[i] = "  " + accent.Render(line)
		}
	}
	if f.expanded {
		for i, choice := range q.Choices {
			lines = append(lines, indented(fmt.Sprintf("    %d  ", i+1), choice, f.width)...)
		}
		lines = append(lines, it.decided(f.width)...)
	}
	if !it.done {
		return lines
	}
	return append(lines, it.results(f.width)...)
}
