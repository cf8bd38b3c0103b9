package compare

import (
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/plural"
	"github.com/reagent-dev/reagent/internal/printable"
)

const (
	// maxShown is the largest number of characters of a text that is shown.
	maxShown = 2000
	// before is the number of characters that are shown before the place where two texts begin to differ.
	before = 80
	// minWidth is the smallest width of a terminal on which two texts stand side by side.
	minWidth = 60
	// maxField and maxValue are the largest numbers of characters of a field of a definition and of its value. inValue is the number of
	// characters that are shown before the place where two values begin to differ.
	maxField, maxValue, inValue = 30, 100, 10
	// wall stands between two texts.
	wall = " │ "
)

// Print writes a comparison for people. `width` is that of the terminal, in columns; 0 means that the output is no terminal. On a terminal,
// texts stand side by side.
func Print(w io.Writer, c object.Comparison, width int) {
	p := printer{out: w, width: width, a: printable.Name(c.A.ID), b: printable.Name(c.B.ID)}
	p.differences(c.Differences)
	if c.A.Message == nil && c.B.Message == nil {
		fmt.Fprintf(w, "Both said and called the same, in %s.\n", plural.Of(c.SameMessages, "message"))
	} else {
		fmt.Fprintf(w, "%s Message %d:\n\n", sameText(c.SameMessages), c.SameMessages+1)
		p.pair(messageText(c.A.Message), messageText(c.B.Message))
	}
	fmt.Fprintln(w)
	p.totals(c)
	fmt.Fprintln(w)
	if c.A.Answer == c.B.Answer {
		fmt.Fprintln(w, "Both have the same answer.")
		return
	}
	fmt.Fprintf(w, "Answer:\n\n")
	p.pair(printable.Text(c.A.Answer), printable.Text(c.B.Answer))
}

// sameText says how many messages are the same before the first difference.
func sameText(n int) string {
	switch n {
	case 0:
		return "The first messages differ."
	case 1:
		return "The first message is the same."
	}
	return fmt.Sprintf("The first %d messages are the same.", n)
}

func messageText(m *object.Said) string {
	if m == nil {
		return "(no further message)"
	}
	lines := []string{string(m.Role) + ":"}
	if m.Tool != "" {
		lines = []string{"result of " + printable.Line(m.Tool, 100) + ":"}
	}
	if m.Content != "" {
		lines = append(lines, printable.Text(m.Content))
	}
	for _, image := range m.Images {
		lines = append(lines, "image "+printable.Line(image, 100))
	}
	for _, c := range m.Calls {
		lines = append(lines, "calls "+printable.Line(c.Tool, 100)+" "+printable.Text(c.Arguments))
	}
	return strings.Join(lines, "\n")
}

// aligned leaves out most of what two long texts have in common at their beginning, and the ends of long texts.
func aligned(a, b string) (string, string) {
	x, y := []rune(a), []rune(b)
	same := 0
	for same < min(len(x), len(y)) && x[same] == y[same] {
		same++
	}
	skip := 0
	if same > 2*before {
		skip = same - before
	}
	return cut(x, skip), cut(y, skip)
}

func cut(text []rune, skip int) string {
	head, tail := "", ""
	if skip > 0 {
		head, text = "… ", text[skip:]
	}
	if len(text) > maxShown {
		tail, text = fmt.Sprintf(" … (%d more characters)", len(text)-maxShown), text[:maxShown]
	}
	return head + string(text) + tail
}

type printer struct {
	out   io.Writer
	width int
	a, b  string // the IDs
}

// pair writes two texts under the IDs of their agents: side by side, or one after the other.
func (p printer) pair(a, b string) {
	a, b = aligned(a, b)
	if p.width < minWidth {
		fmt.Fprintf(p.out, "%s:\n%s\n\n%s:\n%s\n", p.a, indented(a), p.b, indented(b))
		return
	}
	room := (p.width - 1 - ansi.StringWidth(wall)) / 2 // the last column stays free
	x := append(wrapped(p.a, room), wrapped(a, room)...)
	y := append(wrapped(p.b, room), wrapped(b, room)...)
	for i := range max(len(x), len(y)) {
		left, right := "", ""
		if i < len(x) {
			left = x[i]
		}
		if i < len(y) {
			right = y[i]
		}
		fmt.Fprintln(p.out, strings.TrimRight(left+strings.Repeat(" ", max(0, room-ansi.StringWidth(left)))+wall+right, " "))
	}
}

// differences writes a line for each field in which the definitions differ.
func (p printer) differences(all []object.Difference) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintln(p.out, "The definitions differ:")
	for _, d := range all {
		field := ansi.Truncate(printable.Line(d.Field, maxField), maxField, "…")
		x, y := firstDifference(d.InA, d.InB)
		room := maxValue
		if p.width >= minWidth {
			room = min(room, max(1, (p.width-1-len("  ")-ansi.StringWidth(field+": ")-ansi.StringWidth(wall))/2))
		}
		fmt.Fprintf(p.out, "  %s: %s%s%s\n", field, ansi.Truncate(x, room, "…"), wall, ansi.Truncate(y, room, "…"))
	}
	fmt.Fprintln(p.out)
}

// firstDifference returns the first lines in which two values differ, without most of what long lines have in common at their beginning.
func firstDifference(a, b string) (string, string) {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	i := 0
	for i < min(len(x), len(y)) && x[i] == y[i] {
		i++
	}
	line := func(lines []string) []rune {
		if i >= len(lines) {
			return nil
		}
		return []rune(lines[i])
	}
	left, right := line(x), line(y)
	same := 0
	for same < min(len(left), len(right)) && left[same] == right[same] {
		same++
	}
	shown := func(text []rune) string {
		if skip := same - inValue; skip > inValue {
			text = append([]rune("… "), text[skip:]...)
		}
		if len(text) == 0 {
			return "(nothing)"
		}
		return printable.Line(string(text), maxValue)
	}
	return shown(left), shown(right)
}

func indented(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }

func wrapped(text string, width int) []string {
	return strings.Split(ansi.Wrap(strings.ReplaceAll(text, "\t", "  "), width, ""), "\n")
}

// totals writes a table of what the agents used.
func (p printer) totals(c object.Comparison) {
	rows := [][3]string{{"", p.a, p.b}}
	add := func(name string, of func(object.Side) string) { rows = append(rows, [3]string{name, of(c.A), of(c.B)}) }
	add("agent", func(s object.Side) string { return printable.Line(s.Agent, 40) })
	add("model", func(s object.Side) string { return printable.Line(s.Model, 40) })
	add("status", func(s object.Side) string { return string(s.Status) })
	add("model calls", func(s object.Side) string { return fmt.Sprint(s.Usage.ModelCalls) })
	add("tool calls", func(s object.Side) string { return fmt.Sprint(s.Usage.ToolCalls) })
	add("tokens in", func(s object.Side) string { return fmt.Sprint(s.Spent.InputTokens) })
	add("tokens out", func(s object.Side) string { return fmt.Sprint(s.Spent.OutputTokens) })
	add("cost", func(s object.Side) string { return fmt.Sprintf("$%.4f", s.Spent.CostUSD) })
	add("duration", func(s object.Side) string { return fmt.Sprintf("%.1f s", float64(s.DurationMS)/1000) })
	wide := [3]int{}
	for _, row := range rows {
		for i, cell := range row {
			wide[i] = max(wide[i], ansi.StringWidth(cell))
		}
	}
	for _, row := range rows {
		var cells []string
		for i, cell := range row {
			cells = append(cells, cell+strings.Repeat(" ", wide[i]-ansi.StringWidth(cell)))
		}
		fmt.Fprintln(p.out, strings.TrimRight(strings.Join(cells, "  "), " "))
	}
}
