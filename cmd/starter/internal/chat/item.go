package chat

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/cmd/starter/internal/screen"
	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/internal/proposal"
	"github.com/reagent-dev/reagent/llm"
)

// The styles of the screen. They use only the weights and the basic colours of a terminal.
var (
	bold   = lipgloss.NewStyle().Bold(true)
	faint  = lipgloss.NewStyle().Faint(true)
	accent = lipgloss.NewStyle().Foreground(lipgloss.Cyan)
	urgent = lipgloss.NewStyle().Bold(true).Foreground(lipgloss.Yellow)
)

type itemKind int

const (
	userItem   itemKind = iota // a message of the person
	replyItem                  // the text of a reply of the model
	callItem                   // a call of a tool or sub-agent, with its result
	deniedItem                 // a call that the person has denied, with the reason as its result
	noticeItem                 // a text that the agent has put into the transcript itself
	asideItem                  // an aside, with its answer
	noteItem                   // a text of this program
	cutItem                    // the text of a reply that was interrupted
	turnItem                   // what a turn took
	helpItem                   // the keys and commands
	anyItem                    // all kinds, in a search; no item has it
)

// item is one part of the conversation on the screen.
type item struct {
	kind itemKind
	// index is the index of the message in the transcript. It is -1 if the item is no message, but a text of this program.
	index     int
	key       agent.Key
	text      string
	reasoning string
	// at is the time of a message of a person, in Unix milliseconds.
	at int64

	// result is the result of a call, the answer to an aside, or the error that a text of this program is about.
	result string
	// failed says that an aside has no answer. The result is then the reason.
	failed bool
	// The other fields are those of a call. took is empty if the duration is not known.
	name, arguments, took string
	asked                 int64
	done                  bool
	decider               *agent.Decider
	// output is the end of what the tool has reported so far. It is shown only until the call has ended.
	output string
	// flipped shows the call in full if the others are folded, and folds it if they are not.
	flipped bool

	// drawn holds the lines that were drawn last. They are valid while the form of the item is drawnFor.
	drawn    []string
	drawnFor form
}

// form is what the lines of an item depend on, as far as it may change after the item has been added. It tells whether `drawn` is still right.
type form struct {
	width    int
	expanded bool
	selected bool
	done     bool
	output   string
}

func (it *item) finish(m agent.Message) {
	it.result, it.done, it.decider = m.Content, true, m.Decider
	if took := time.Duration(m.Time-it.asked) * time.Millisecond; it.asked > 0 && took >= 100*time.Millisecond {
		it.took = "  (" + took.Round(100*time.Millisecond).String() + ")"
	}
}

// lines returns the lines of an item. A call has one line, or its whole arguments and result if it is expanded.
func (it *item) lines(md *screen.Markdown, width int, expanded, selected bool) []string {
	want := form{width, expanded != it.flipped, selected, it.done, it.output}
	if it.drawnFor != want {
		it.drawn, it.drawnFor = it.draw(md, want), want
	}
	return it.drawn
}

// draw returns the lines of an item. Only texts of this program and of the person begin in the first column. So no text of a model or
// a tool looks like a question of this program, or like a message of the person.
func (it *item) draw(md *screen.Markdown, f form) []string {
	switch it.kind {
	case userItem:
		lines := []string{""}
		if f.expanded && it.index > 0 {
			lines = append(lines, faint.Render(cut(fmt.Sprintf("/fork %d goes back to here", it.index), f.width)))
		}
		text := it.text
		if !f.expanded {
			text = foldedMessage(text)
		}
		return append(lines, styled(marked("> ", text, f.width), bold)...)
	case replyItem:
		lines := []string{""}
		if f.expanded && it.reasoning != "" {
			lines = append(lines, styled(indented("  ", it.reasoning, f.width), faint)...)
		}
		return append(lines, foreign(md, "  ", it.text, f.width)...)
	case callItem:
		if q, ok := it.question(); ok {
			return it.drawQuestion(md, q, f)
		}
		if f.expanded {
			return append(it.unfolded(f), it.running(f.width)...)
		}
		return append([]string{it.folded(f)}, it.running(f.width)...)
	case deniedItem:
		return append([]string{""}, it.drawDenied(f)...)
	case noticeItem:
		return append([]string{""}, styled(indented("  ", it.text, f.width), faint)...)
	case asideItem:
		return it.drawAside(md, f.width)
	case cutItem:
		lines := append([]string{""}, styled(indented("  ", it.text, f.width), faint)...)
		return append(lines, styled(indented("  ", it.result, f.width), faint)...)
	case helpItem:
		return append([]string{""}, styled(helpLines(f.width), faint)...)
	case turnItem:
		return styled(indented("  ", it.text, f.width), faint)
	}
	lines := append([]string{""}, styled(hanging(it.text, f.width), faint)...)
	if it.result != "" {
		lines = append(lines, styled(indented("  ", it.result, f.width), faint)...)
	}
	return lines
}

func (it *item) folded(f form) string {
	line := f.mark("▸ ") + accent.Render(printable.Line(it.name, 100))
	if it.arguments != "" {
		line += " " + proposal.Summary(it.name, it.arguments, 400)
	}
	if !it.done {
		return cut(line+" …", f.width)
	}
	return it.withOutcome(line, f.width)
}

// withOutcome keeps half of the line for the result, because long arguments would hide it.
func (it *item) withOutcome(line string, width int) string {
	return cut(cut(line, max(width/2, width-ansi.StringWidth(it.outcome())-3))+" → "+it.outcome(), width)
}

// folds reports whether an item is a call, which the person selects, expands and folds.
func (it *item) folds() bool { return it.kind == callItem || it.kind == deniedItem }

// drawDenied returns one line, or the whole arguments and the whole reason.
func (it *item) drawDenied(f form) []string {
	line := f.mark("") + "Denied " + accent.Render(printable.Line(it.name, 100))
	if f.expanded {
		lines := append([]string{cut(line, f.width)}, screen.Form(proposal.Of(it.name, it.arguments), argumentsIndent, f.width)...)
		if it.result != "" {
			lines = append(lines, it.results(f.width)...)
		}
		return lines
	}
	line += " " + proposal.Summary(it.name, it.arguments, 400)
	if it.result == "" {
		return []string{cut(line, f.width)}
	}
	return []string{it.withOutcome(line, f.width)}
}

func (f form) mark(mark string) string {
	if f.selected {
		return urgent.Render("» ")
	}
	return mark
}

// outputLines is how many of the last lines of a running tool's output are shown.
const outputLines = 5

func (it *item) running(width int) []string {
	if it.done || it.output == "" {
		return nil
	}
	var lines []string
	for line := range strings.SplitSeq(printable.LastLines(it.output, outputLines), "\n") {
		lines = append(lines, faint.Render(cut("  "+line, width)))
	}
	return lines
}

func (it *item) outcome() string { return printable.Line(it.result, 400) + it.took }

// maxResult is the number of bytes at the beginning and at the end of a result that are shown. Breaking a result of a megabyte into
// lines would stop the chat for seconds.
const maxResult = 30_000

func (it *item) unfolded(f form) []string {
	lines := []string{cut(f.mark("▾ ")+accent.Render(printable.Line(it.name, 100))+it.took, f.width)}
	if it.arguments != "" {
		lines = append(lines, screen.Form(proposal.Of(it.name, it.arguments), argumentsIndent, f.width)...)
	}
	lines = append(lines, it.decided(f.width)...)
	if !it.done {
		return lines
	}
	return append(lines, it.results(f.width)...)
}

// decided returns the line that names the person who has decided on a call; none if nobody has.
func (it *item) decided(width int) []string {
	d, verb := it.decider, "approved by "
	switch {
	case d == nil:
		return nil
	case d.Denied:
		verb = "denied by "
	case it.name == agent.AskUser:
		verb = "answered by "
	case d.Remembered:
		verb = "permitted by an earlier approval of "
	}
	return []string{faint.Render(cut("  "+verb+byText(d.By), width))}
}

// results returns the lines of the result of a call, without the middle of a very long one.
func (it *item) results(width int) []string {
	begin, end := it.result, ""
	if len(it.result) > 2*maxResult {
		begin, end = strings.ToValidUTF8(it.result[:maxResult], ""), strings.ToValidUTF8(it.result[len(it.result)-maxResult:], "")
	}
	lines := indented("  → ", begin, width)
	if end != "" {
		left := fmt.Sprintf("%s bytes are left out here; `starter show --json` prints them.", grouped(len(it.result)-len(begin)-len(end)))
		lines = append(lines, styled(indented("  ", left, width), faint)...)
		lines = append(lines, indented("    ", end, width)...)
	}
	return lines
}

// byText names the person who has decided. `by` is empty if that person's program did not know the name.
func byText(by string) string { return printable.Name(cmp.Or(by, "a person")) }

// indented returns the lines of a text of unknown origin. The first line begins with a prefix, and the others with spaces.
func indented(prefix, text string, width int) []string {
	room := ansi.StringWidth(prefix)
	return prefixed(prefix, wrapped(text, width-room), strings.Repeat(" ", room))
}

func foreign(md *screen.Markdown, indent, text string, width int) []string {
	lines := md.Render(text, max(1, width-len(indent)))
	for i, line := range lines {
		if line != "" {
			lines[i] = indent + line
		}
	}
	return lines
}

func marked(mark, text string, width int) []string {
	return prefixed(mark, wrapped(text, width-len(mark)), mark)
}

func wrapped(text string, width int) []string {
	return screen.Wrap(strings.TrimRight(printable.Text(text), "\n"), width)
}

// hanging wraps a text. It indents all lines except for the first one, so that a name inside the text, such as that of a tool, cannot look
// like the beginning of another item of the chat.
func hanging(text string, width int) []string {
	const indent = "  "
	return prefixed("", wrapped(text, width-len(indent)), indent)
}

// argumentsIndent is the indentation of the arguments of a call.
const argumentsIndent = 4

// prefixed puts a prefix before the first line, and an indentation before the others.
func prefixed(prefix string, lines []string, indent string) []string {
	for i, line := range lines {
		if i > 0 {
			prefix = indent
		}
		lines[i] = prefix + line
	}
	return lines
}

func styled(lines []string, style lipgloss.Style) []string {
	for i, line := range lines {
		lines[i] = style.Render(line)
	}
	return lines
}

func cut(line string, width int) string { return ansi.Truncate(line, max(1, width), "…") }

func itemsOf(m agent.Message, index int) []*item {
	switch {
	case m.Notice:
		return []*item{{kind: noticeItem, index: index, text: m.Content}}
	case m.BringsLateResult():
		return []*item{{kind: callItem, index: index, name: "late result", result: m.Content, done: true}}
	case m.Role == llm.User:
		return []*item{{kind: userItem, index: index, key: m.Key, at: m.Time, text: m.Content + imagesText(len(m.Parts))}}
	}
	var items []*item
	if m.Content != "" || m.Reasoning != "" {
		items = append(items, &item{kind: replyItem, index: index, text: m.Content, reasoning: m.Reasoning})
	}
	for _, call := range m.ToolCalls {
		items = append(items, &item{kind: callItem, index: index, name: call.Name, arguments: call.Arguments, asked: m.Time})
	}
	if m.FinishReason != "" {
		items = append(items, &item{kind: noteItem, index: index, text: "The answer may not be whole: the model ended it with the finish reason " + printable.Name(m.FinishReason) + "."})
	}
	return items
}

func imagesText(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return " [1 image]"
	}
	return fmt.Sprintf(" [%d images]", n)
}
