package screen

import (
	"fmt"
	"strings"

	xansi "github.com/charmbracelet/x/ansi"
	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

// block returns the lines of one block of Markdown.
func (r *renderer) block(n ast.Node, width int) []string {
	switch n := n.(type) {
	case *ast.Heading:
		return wrap(r.inline(n, style{bold: true}), width)
	case *ast.Paragraph, *ast.TextBlock:
		return wrap(r.inline(n, style{}), width)
	case *ast.List:
		return r.list(n, width)
	case *ast.Blockquote:
		return behind("| ", "| ", r.blocks(n, width-2, true))
	case *ast.FencedCodeBlock:
		return r.code(n, string(n.Language(r.source)), width)
	case *ast.CodeBlock:
		return r.code(n, "", width)
	case *ast.HTMLBlock:
		text := r.raw(n)
		if n.HasClosure() {
			text += string(n.ClosureLine.Value(r.source))
		}
		return wrap([]span{{strings.TrimRight(text, "\n"), style{}}}, width)
	case *ast.ThematicBreak:
		return []string{strings.Repeat("─", min(8, width))}
	case *extast.Table:
		return r.table(n, width)
	}
	return r.blocks(n, width, true)
}

// list returns the lines of a list. The lines of an item hang behind its mark.
func (r *renderer) list(list *ast.List, width int) []string {
	var lines []string
	number := list.Start
	for item := list.FirstChild(); item != nil; item = item.NextSibling() {
		mark := "• "
		if list.IsOrdered() {
			mark = fmt.Sprintf("%d%c ", number, list.Marker)
			number++
		}
		if len(lines) > 0 && !list.IsTight {
			lines = append(lines, "")
		}
		room := xansi.StringWidth(mark)
		drawn := r.blocks(item, width-room, !list.IsTight)
		if len(drawn) == 0 {
			drawn = []string{""}
		}
		lines = append(lines, behind(mark, strings.Repeat(" ", room), drawn)...)
	}
	return lines
}

// behind puts a mark before the first line, and another one before the others.
func behind(first, other string, lines []string) []string {
	marked := make([]string, len(lines))
	for i, line := range lines {
		marked[i] = other + line
		if i == 0 {
			marked[i] = first + line
		}
	}
	return marked
}

func (r *renderer) raw(n ast.Node) string {
	var b strings.Builder
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		b.Write(line.Value(r.source))
	}
	return b.String()
}

// code returns the lines of a block of code, with the colours of its language. A line that is too long goes on below, behind its own
// indentation.
func (r *renderer) code(n ast.Node, language string, width int) []string {
	const indent = "  "
	text := strings.TrimRight(strings.ReplaceAll(r.raw(n), "\t", "    "), "\n")
	var lines []string
	for _, line := range split(r.highlighting.spans(text, language)) {
		lines = append(lines, wrapCode(line, width-len(indent))...)
	}
	return behind(indent, indent, lines)
}

// table returns the lines of a table. If it is too wide, the widest columns become narrower, and their cells are broken into lines.
func (r *renderer) table(table *extast.Table, width int) []string {
	var rows [][][]span
	columns := 0
	for row := table.FirstChild(); row != nil; row = row.NextSibling() {
		var cells [][]span
		st := style{bold: len(rows) == 0}
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			cells = append(cells, r.inline(cell, st))
		}
		rows, columns = append(rows, cells), max(columns, len(cells))
	}
	const between = " │ "
	if columns == 0 || width < columns*4 { // too narrow for columns
		var lines []string
		for _, cells := range rows {
			for _, cell := range cells {
				lines = append(lines, wrap(cell, width)...)
			}
		}
		return lines
	}
	widths := columnWidths(rows, columns, width-(columns-1)*3)
	var lines []string
	for i, cells := range rows {
		lines = append(lines, rowLines(cells, widths, between)...)
		if i == 0 {
			var rules []string
			for _, w := range widths {
				rules = append(rules, strings.Repeat("─", w))
			}
			lines = append(lines, strings.Join(rules, "─┼─"))
		}
	}
	return lines
}

// columnWidths returns the widths of columns that have `room` together. The widest columns give way first.
func columnWidths(rows [][][]span, columns, room int) []int {
	widths := make([]int, columns)
	total := 0
	for c := range widths {
		widths[c] = 1
		for _, cells := range rows {
			if c < len(cells) {
				widths[c] = max(widths[c], widthOf(cells[c]))
			}
		}
		total += widths[c]
	}
	for total > room {
		widest, second := 0, 1
		for c, w := range widths {
			if w > widths[widest] {
				widest = c
			}
		}
		for c, w := range widths {
			if c != widest {
				second = max(second, w)
			}
		}
		less := max(1, min(total-room, widths[widest]-second))
		widths[widest], total = widths[widest]-less, total-less
	}
	return widths
}

func rowLines(cells [][]span, widths []int, between string) []string {
	columns, height := make([][]string, len(widths)), 1
	for c, w := range widths {
		if c < len(cells) {
			columns[c] = wrap(cells[c], w)
		}
		height = max(height, len(columns[c]))
	}
	lines := make([]string, height)
	for i := range lines {
		for c, w := range widths {
			text := ""
			if i < len(columns[c]) {
				text = columns[c][i]
			}
			if c > 0 {
				lines[i] += between
			}
			lines[i] += text + strings.Repeat(" ", max(0, w-xansi.StringWidth(text)))
		}
	}
	return lines
}
