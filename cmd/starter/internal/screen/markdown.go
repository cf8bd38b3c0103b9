// Package screen draws texts on a terminal: Markdown, and the arguments of calls.
package screen

import (
	"regexp"
	"strings"

	"charm.land/lipgloss/v2"
	xansi "github.com/charmbracelet/x/ansi"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"github.com/reagent-dev/reagent/internal/printable"
)

// Markdown renders texts of models. Its zero value is ready to use. It must not be used by several goroutines at once.
type Markdown struct{ parser parser.Parser }

// maxMarkdown is the size in bytes of the largest text that is rendered, which takes about a tenth of a second.
const maxMarkdown = 100_000

var (
	// styling is a sequence that sets colour or weight. The renderer writes no other sequence.
	styling = regexp.MustCompile("\x1b\\[[0-9;:]*m")
	// nested matches a line that begins with more than eight marks of quotes and lists, or with a mark after 60 spaces. A parser takes
	// very long for a thousand marks, and nobody reads them.
	nested = regexp.MustCompile(`(?m)^(?:[ \t]*(?:(?:>|[-*+][ \t]|\d{1,9}[.)][ \t])[ \t]*){9}|[ \t]{60,}(?:>|[-*+][ \t]|\d{1,9}[.)][ \t]))`)
)

// Render returns the lines of a Markdown text. The text may be of unknown origin: the only escape sequences in the result set colour or
// weight, and come from the renderer. HTML and character references such as &#27; stand as they are. If the text is too long or too deeply
// nested, its lines are returned without rendering.
func (m *Markdown) Render(markdown string, width int) []string {
	markdown, width = printable.Text(markdown), max(1, width)
	var lines []string
	if len(markdown) <= maxMarkdown && !nested.MatchString(markdown) {
		lines = m.render(markdown, width)
	} else {
		lines = Wrap(markdown, width)
	}
	for i, line := range lines {
		lines[i] = trimRight(line)
	}
	for len(lines) > 0 && lines[0] == "" {
		lines = lines[1:]
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

func (m *Markdown) render(markdown string, width int) []string {
	if m.parser == nil {
		m.parser = goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough)).Parser()
	}
	source := []byte(markdown)
	r := renderer{source: source, highlighting: highlighting{left: maxHighlight}}
	var lines []string
	for _, line := range r.blocks(m.parser.Parse(text.NewReader(source)), width, true) {
		lines = append(lines, safe(line))
	}
	return lines
}

// safe keeps colours and weights, and escapes all other characters that control a terminal.
func safe(rendered string) string {
	var b strings.Builder
	at := 0
	for _, found := range styling.FindAllStringIndex(rendered, -1) {
		b.WriteString(printable.Text(rendered[at:found[0]]))
		b.WriteString(rendered[found[0]:found[1]])
		at = found[1]
	}
	b.WriteString(printable.Text(rendered[at:]))
	return b.String()
}

// blanks are the spaces at the end of a line, together with the sequences between them.
var blanks = regexp.MustCompile("(?: |\x1b\\[[0-9;:]*m)+$")

func trimRight(line string) string {
	cut := blanks.ReplaceAllString(line, "")
	if strings.Contains(cut, "\x1b[") {
		cut += "\x1b[m"
	}
	return cut
}

// Wrap breaks a text into lines that are not wider than `width` columns.
func Wrap(text string, width int) []string {
	width = max(1, width)
	var lines []string
	for line := range strings.SplitSeq(lipgloss.Wrap(strings.ReplaceAll(text, "\t", "    "), width, ""), "\n") {
		if xansi.StringWidth(line) > width {
			line = strings.TrimRight(line, " ") // the library keeps the spaces at which it has broken the line
		}
		if xansi.StringWidth(line) > width {
			lines = append(lines, HardWrap(line, width)...)
			continue
		}
		lines = append(lines, line)
	}
	return lines
}

// HardWrap returns the lines of a text, broken at the width of the terminal. It keeps every character.
func HardWrap(text string, width int) []string {
	return strings.Split(xansi.Hardwrap(strings.ReplaceAll(text, "\t", "    "), max(1, width), true), "\n")
}

// renderer draws the parts of one Markdown text.
type renderer struct {
	source       []byte
	highlighting highlighting
}

// blocks returns the lines of the blocks in a node. `apart` says whether an empty line stands between two blocks.
func (r *renderer) blocks(n ast.Node, width int, apart bool) []string {
	var lines []string
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		drawn := r.block(child, max(1, width))
		if len(lines) > 0 && len(drawn) > 0 && apart {
			lines = append(lines, "")
		}
		lines = append(lines, drawn...)
	}
	return lines
}
