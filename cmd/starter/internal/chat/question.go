package chat

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/cmd/starter/internal/screen"
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

// block matches a text whose first line is no paragraph in Markdown, but a list, a title, code or the like.
var block = regexp.MustCompile("^(?: {4}|\t|\\s*(?:[-*+#>|`~]|[0-9]{1,9}[.)]))")

// meaning matches a text in which Markdown could see more than words.
var meaning = regexp.MustCompile(`[^\pL\pN .,:-]`)

// questionLines returns the lines of a question of the model, which is Markdown, behind a mark and a title.
func questionLines(md *screen.Markdown, mark, title, question string, width int, style lipgloss.Style) []string {
	room := max(1, width-ansi.StringWidth(mark))
	var lines []string
	if block.MatchString(question) || meaning.MatchString(title) {
		lines = append(styled(wrapped(title, room), style), md.Render(question, room)...)
	} else if lines = md.Render(title+" "+question, room); len(lines) > 0 {
		if rest, ok := strings.CutPrefix(lines[0], title); ok {
			lines[0] = style.Render(title) + rest
		}
	}
	return prefixed(mark, lines, "  ")
}

// drawQuestion returns the lines of a question of the model and of its answer, which a person reads as text and not as arguments. While
// the question waits, it takes one line, because it stands in full below the conversation.
func (it *item) drawQuestion(md *screen.Markdown, q agent.Question, f form) []string {
	mark := "▸ "
	if f.expanded {
		mark = "▾ "
	}
	if !it.done && !f.expanded {
		return []string{cut(f.mark(mark)+accent.Render("Question:")+" "+printable.Line(q.Question, 400)+" …", f.width)}
	}
	lines := questionLines(md, f.mark(mark), "Question:", q.Question, f.width, accent)
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
