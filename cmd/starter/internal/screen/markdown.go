// Package screen draws texts on a terminal: Markdown, and the arguments of calls.
package screen

import (
	"regexp"
	"strings"

	"charm.land/glamour/v2"
	"charm.land/glamour/v2/ansi"
	"charm.land/glamour/v2/styles"
	"charm.land/lipgloss/v2"
	xansi "github.com/charmbracelet/x/ansi"

	"github.com/reagent-dev/reagent/internal/printable"
)

// Markdown renders texts of models. Its zero value is ready to use. It keeps the renderer of the last width, and must not be used by several
// goroutines at once.
type Markdown struct {
	width    int
	renderer *glamour.TermRenderer
}

// maxMarkdown is the size in bytes of the largest text that is rendered, which takes about a tenth of a second.
const maxMarkdown = 100_000

var (
	// hide replaces the two characters with which Markdown contains HTML by characters without a meaning. So the renderer decodes no
	// character reference such as &#27;, which would become an escape, and drops no text such as <String>.
	hide = strings.NewReplacer("&", "\ue000", "<", "\ue001")
	// unhide reverses hide. In addresses the renderer has percent-encoded the characters.
	unhide = strings.NewReplacer("\ue000", "&", "\ue001", "<", "%EE%80%80", "&", "%EE%80%81", "<")
	// styling is a sequence that sets colour or weight. The renderer writes no other sequence, except for links.
	styling = regexp.MustCompile("\x1b\\[[0-9;:]*m")
	// nested matches a line that begins with more than eight marks of quotes and lists, or with a mark after 60 spaces. The renderer
	// takes a minute for a thousand marks.
	nested = regexp.MustCompile(`(?m)^(?:[ \t]*(?:(?:>|[-*+][ \t]|\d{1,9}[.)][ \t])[ \t]*){9}|[ \t]{60,}(?:>|[-*+][ \t]|\d{1,9}[.)][ \t]))`)
	// link is the sequence with which a terminal makes text a link. Its address comes from the model, so it is removed. The text
	// shows the address anyway.
	link = regexp.MustCompile("\x1b\\]8;[^\x07\x1b]*(?:\x07|\x1b\\\\)")
)

// Render returns the lines of a Markdown text. The text may be of unknown origin: the only escape sequences in the result set colour or
// weight, and come from the renderer. If the text is too long or too deeply nested, or if the renderer fails, its lines are returned
// without rendering.
func (m *Markdown) Render(text string, width int) []string {
	text = printable.Text(text)
	if m.renderer == nil || m.width != width {
		m.width = width
		m.renderer, _ = glamour.NewTermRenderer(glamour.WithStyles(markdownStyle()), glamour.WithWordWrap(width), glamour.WithPreservedNewLines())
	}
	out := text
	if m.renderer != nil && len(text) <= maxMarkdown && !nested.MatchString(text) {
		if rendered, err := m.renderer.Render(hide.Replace(text)); err == nil {
			out = rendered
		}
	}
	lines := Wrap(safe(unhide.Replace(out)), width)
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

// safe removes links, keeps colours and weights, and escapes all other characters that control a terminal.
func safe(rendered string) string {
	rendered = link.ReplaceAllString(rendered, "")
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

// blanks are the spaces with which the renderer fills a line, together with the sequences between them.
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

// markdownStyle returns the style of Markdown. It uses only the weights and the basic colours of a terminal, which can be read on a
// light and on a dark background. Code has one colour, because the colours of a highlighter assume a background.
func markdownStyle() ansi.StyleConfig {
	yes, cyan, none := true, "6", uint(0)
	s := styles.NoTTYStyleConfig
	s.Document = ansi.StyleBlock{Margin: &none}
	for _, heading := range []*ansi.StyleBlock{&s.H1, &s.H2, &s.H3, &s.H4, &s.H5, &s.H6} {
		heading.Bold, heading.Prefix = &yes, ""
	}
	s.Strong = ansi.StylePrimitive{Bold: &yes}
	s.Emph = ansi.StylePrimitive{Italic: &yes}
	s.Code = ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{Color: &cyan}}
	s.CodeBlock.Color = &cyan
	s.Link = ansi.StylePrimitive{Underline: &yes}
	s.HorizontalRule = ansi.StylePrimitive{Format: "\n────────\n"}
	return s
}
