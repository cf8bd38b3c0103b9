package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/llm"
)

// The styles of the screen. They use only the weights and the basic colours of a terminal.
var (
	bold   = lipgloss.NewStyle().Bold(true)
	faint  = lipgloss.NewStyle().Faint(true)
	accent = lipgloss.NewStyle().Foreground(lipgloss.Cyan)
	urgent = lipgloss.NewStyle().Bold(true).Foreground(lipgloss.Yellow)
)

// itemKind says what an [item] is.
type itemKind int

const (
	userItem  itemKind = iota // a message of the person
	replyItem                 // the text of a reply of the model
	callItem                  // a call of a tool or sub-agent, with its result
	noteItem                  // a text of this program or of the agent itself
)

// item is one part of the conversation on the screen.
type item struct {
	kind itemKind
	// index is the index of the message in the transcript. It is -1 if the item is no message, but a text of this program.
	index int
	text  string
	// reasoning is the reasoning of a reply.
	reasoning string

	// The other fields are those of a call. took is empty if the duration is not known.
	name, arguments, result, took string
	asked                         int64
	done                          bool
	decider                       *agent.Decider
	// output is the end of what the tool has reported so far. It is shown only until the call has ended.
	output string

	// drawn are the lines for the width and the form in drawnFor.
	drawn    []string
	drawnFor form
}

// form is what the lines of an item depend on.
type form struct {
	width    int
	expanded bool
	done     bool
	output   string
}

// finish gives a call its result.
func (it *item) finish(m agent.Message) {
	it.result, it.done, it.decider = m.Content, true, m.Decider
	if took := time.Duration(m.Time-it.asked) * time.Millisecond; it.asked > 0 && took >= 100*time.Millisecond {
		it.took = "  (" + took.Round(100*time.Millisecond).String() + ")"
	}
}

// lines returns the lines of an item. A call has one line, or its whole arguments and result if expanded is true.
func (it *item) lines(md *markdown, width int, expanded bool) []string {
	want := form{width, expanded, it.done, it.output}
	if it.drawnFor != want {
		it.drawn, it.drawnFor = it.draw(md, width, expanded), want
	}
	return it.drawn
}

func (it *item) draw(md *markdown, width int, expanded bool) []string {
	switch it.kind {
	case userItem:
		lines := []string{""}
		if expanded && it.index > 0 {
			lines = append(lines, faint.Render(fmt.Sprintf("/fork %d goes back to here", it.index)))
		}
		return append(lines, styled(indented("> ", it.text, width), bold)...)
	case replyItem:
		lines := []string{""}
		if expanded && it.reasoning != "" {
			lines = append(lines, styled(indented("  ", it.reasoning, width), faint)...)
		}
		return append(lines, md.render(it.text, width)...)
	case callItem:
		if expanded {
			return append(it.unfolded(width), it.running(width)...)
		}
		return append([]string{it.folded(width)}, it.running(width)...)
	}
	return append([]string{""}, styled(indented("", it.text, width), faint)...)
}

// folded returns a call as one line.
func (it *item) folded(width int) string {
	line := "▸ " + accent.Render(printable.Line(it.name, 100)) + " " + printable.Line(it.arguments, 400)
	if !it.done {
		return cut(line+" …", width)
	}
	// Half of the line is for the result, because long arguments would hide it.
	return cut(cut(line, max(width/2, width-ansi.StringWidth(it.outcome())-3))+" → "+it.outcome(), width)
}

// outputLines is the number of lines that are shown of the output of a running tool.
const outputLines = 5

// running returns the last lines of the output of a call that has not ended.
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

// outcome returns the result of a call as one line.
func (it *item) outcome() string { return printable.Line(it.result, 400) + it.took }

// unfolded returns a call with its whole arguments and result.
func (it *item) unfolded(width int) []string {
	lines := []string{cut("▾ "+accent.Render(printable.Line(it.name, 100))+it.took, width)}
	lines = append(lines, exactly(it.arguments, width)...)
	if d := it.decider; d != nil {
		verb := "approved"
		if d.Denied {
			verb = "denied"
		}
		lines = append(lines, faint.Render(cut("  "+verb+" by "+printable.Name(d.By), width)))
	}
	if it.done {
		lines = append(lines, indented("  → ", it.result, width)...)
	}
	return lines
}

// pretty returns arguments with one value in a line. Arguments that are no JSON stay as they are.
func pretty(arguments string) string {
	var spaced bytes.Buffer
	if json.Indent(&spaced, []byte(arguments), "", "  ") != nil {
		return arguments
	}
	return string(printable.JSON(spaced.Bytes()))
}

// indented returns the lines of a text of unknown origin. The first line begins with a prefix, and the others with spaces.
func indented(prefix, text string, width int) []string {
	room := max(1, width-ansi.StringWidth(prefix))
	return prefixed(prefix, wrap(strings.TrimRight(printable.Text(text), "\n"), room))
}

// exactly returns the lines of arguments, on which a person decides. Every character is shown.
func exactly(arguments string, width int) []string {
	const prefix = "    "
	return prefixed(prefix, hardWrap(printable.Text(pretty(arguments)), width-len(prefix)))
}

// prefixed puts a prefix before the first line, and as many spaces before the others.
func prefixed(prefix string, lines []string) []string {
	for i, line := range lines {
		if i > 0 {
			prefix = strings.Repeat(" ", ansi.StringWidth(prefix))
		}
		lines[i] = prefix + line
	}
	return lines
}

// styled gives each line a style.
func styled(lines []string, style lipgloss.Style) []string {
	for i, line := range lines {
		lines[i] = style.Render(line)
	}
	return lines
}

// cut shortens a line to the width of the terminal.
func cut(line string, width int) string { return ansi.Truncate(line, max(1, width), "…") }

// itemsOf returns the items of a message that is not the result of a call.
func itemsOf(m agent.Message, index int) []*item {
	switch {
	case m.Notice:
		return []*item{{kind: noteItem, index: index, text: m.Content}}
	case m.Role == llm.User:
		return []*item{{kind: userItem, index: index, text: m.Content + imagesText(len(m.Parts))}}
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
