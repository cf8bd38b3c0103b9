package chat

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/reagent-dev/reagent/internal/printable"
)

// finding is a search in the lines of the conversation, as they are on the screen.
type finding struct {
	text string
	// start is the lowest line of the screen when the search began, and line is the one with the match; -1 means none. Both are counted
	// from the first line of the conversation.
	start, line int
}

var reverse = lipgloss.NewStyle().Reverse(true)

// pattern matches the text that the person looks for, in capital or small letters; nil if there is none.
func (f *finding) pattern() *regexp.Regexp {
	if f == nil || f.text == "" {
		return nil
	}
	return regexp.MustCompile("(?i)" + regexp.QuoteMeta(f.text))
}

func (m *model) find() {
	n := m.total()
	m.finding = &finding{start: n - m.up - 1, line: -1}
}

// findKey takes a key during a search. It returns false if the key is not for the search.
func (m *model) findKey(press tea.KeyPressMsg) bool {
	f := m.finding
	if f == nil {
		return false
	}
	switch press.String() {
	case "esc", "ctrl+c":
		m.finding = nil
	case "enter", "up", "ctrl+f":
		m.match(f.line-1, true)
	case "down", "shift+enter":
		m.match(f.line+1, false)
	case "backspace", "ctrl+h":
		if text := []rune(f.text); len(text) > 0 {
			f.text = string(text[:len(text)-1])
		}
		m.match(f.start, true)
	case "ctrl+u":
		f.text = ""
		m.match(f.start, true)
	default:
		if press.Text == "" {
			return false
		}
		f.text += oneLine(press.Text)
		m.match(f.start, true)
	}
	return true
}

// match goes to the next match at or before a line, or at or after it. If there is none in this direction, a search that has no match yet takes
// the nearest one in the other direction.
func (m *model) match(from int, older bool) {
	f, lines := m.finding, m.body(math.MaxInt)
	pattern := f.pattern()
	if pattern == nil {
		f.line = -1
		return
	}
	before, after := -1, -1
	for i, line := range lines {
		if !pattern.MatchString(ansi.Strip(line)) {
			continue
		}
		if i <= from {
			before = i
		}
		if i >= from && after < 0 {
			after = i
		}
	}
	next := after
	if older {
		next = before
	}
	if stays := f.line >= 0 && f.line < len(lines) && pattern.MatchString(ansi.Strip(lines[f.line])); next < 0 && !stays {
		next = max(before, after)
	}
	if next < 0 {
		if f.line >= len(lines) || f.line >= 0 && !pattern.MatchString(ansi.Strip(lines[f.line])) {
			f.line = -1
		}
		return
	}
	f.line = next
	m.toLine(next, len(lines), m.room()/2)
}

// toLine scrolls so that one of n lines is on the screen, if it is not, with `above` lines above it.
func (m *model) toLine(line, n, above int) {
	room := m.room()
	if top := n - m.up - room; line < top || line >= top+room {
		m.up, m.revealed = max(0, min(n-line+above-room, n-room)), false
	}
}

// marks returns the lines with the matches of the search in reverse.
func (m *model) marks(lines []string) []string {
	pattern := m.finding.pattern()
	if pattern == nil {
		return lines
	}
	lines = slices.Clone(lines)
	for i, line := range lines {
		if text := ansi.Strip(line); pattern.MatchString(text) {
			lines[i] = pattern.ReplaceAllStringFunc(text, func(found string) string { return reverse.Render(found) })
		}
	}
	return lines
}

// findHint is the last line during a search, in place of the hint. Its second result is the column of the cursor.
func (m *model) findHint() (string, int) {
	line := "Find: " + m.finding.text
	at := ansi.StringWidth(line)
	switch {
	case m.finding.text == "":
		line += " "
	case m.finding.line < 0:
		line += " · no match"
	default:
		line += fmt.Sprintf(" · line %d", m.finding.line+1)
	}
	return m.hints(line, "Enter older", "Esc ends", "Down newer"), min(at, m.width-1)
}

// toAnswer scrolls up to the beginning of the newest answer that begins above the screen.
func (m *model) toAnswer() {
	top := m.total() - m.up - m.room()
	begin, at := -1, 0
	for _, it := range m.items {
		if (it.kind == replyItem || it.kind == cutItem) && at+1 < top {
			begin = at + 1 // its first line is empty
		}
		at += len(m.linesOf(it))
	}
	if m.partial != nil && m.partial.Text != "" && at+1 < top {
		begin = at + 1
	}
	if begin >= 0 {
		m.toLine(begin, m.total(), 0)
	}
}

// oneLine returns a text to look for, as it stands on the screen.
func oneLine(text string) string {
	return strings.ReplaceAll(printable.Text(newlines.Replace(text)), "\n", " ")
}
