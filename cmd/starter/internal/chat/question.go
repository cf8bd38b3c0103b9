package chat

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/printable"
)

// asksAgain reports whether a text is kept in the input, because it is the number of no choice of the question that it answers. A note says
// so. The same text is sent if the person presses Enter again.
func (m *model) asksAgain(text string) bool {
	w := m.question()
	if w == nil {
		return false
	}
	q, _ := w.Call.Question()
	why := noChoice(q, text)
	if again := (doubt{text, w.Call.Key}); why != "" && m.doubted != again {
		m.doubted = again
		m.note(why + " Enter sends it as your answer all the same.")
		return true
	}
	return false
}

// doubt is a text that was not sent, because it seems to be a mistake, and the question that it was to answer. The same text is sent if the
// person presses Enter again.
type doubt struct {
	text  string
	about agent.Key
}

// noChoice says why an answer seems to be a mistake: it is a number, and the question has choices but none with this number. It returns ""
// for any other answer.
func noChoice(q agent.Question, text string) string {
	typed := strings.TrimSpace(text)
	n, err := strconv.Atoi(typed)
	if err != nil || len(q.Choices) == 0 || slices.Contains(q.Choices, typed) || n >= 1 && n <= len(q.Choices) {
		return ""
	}
	return fmt.Sprintf("%s is not the number of a choice; they go from 1 to %d.", typed, len(q.Choices))
}

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
