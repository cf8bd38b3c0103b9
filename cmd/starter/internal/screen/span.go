package screen

import (
	"strconv"
	"strings"

	xansi "github.com/charmbracelet/x/ansi"
)

// style is the look of a text. It uses only the weights and the basic colours of a terminal, which can be read on a light and on a dark
// background.
type style struct {
	bold, faint, italic, underlined, strike bool
	// colour is the number of a basic colour of a terminal, from 31 to 36; 0 means none.
	colour int
}

// codeColour is the colour of code without a known language.
const codeColour = 36

// on returns a text with the style.
func (s style) on(text string) string {
	var codes []string
	for _, c := range []struct {
		on   bool
		code string
	}{{s.bold, "1"}, {s.faint, "2"}, {s.italic, "3"}, {s.underlined, "4"}, {s.strike, "9"}, {s.colour > 0, strconv.Itoa(s.colour)}} {
		if c.on {
			codes = append(codes, c.code)
		}
	}
	if len(codes) == 0 || text == "" {
		return text
	}
	return "\x1b[" + strings.Join(codes, ";") + "m" + text + "\x1b[m"
}

// span is a text with a style.
type span struct {
	text  string
	style style
}

func textOf(spans []span) string {
	var b strings.Builder
	for _, s := range spans {
		b.WriteString(s.text)
	}
	return b.String()
}

// widthOf returns the width of the widest line.
func widthOf(spans []span) int {
	width := 0
	for line := range strings.SplitSeq(textOf(spans), "\n") {
		width = max(width, xansi.StringWidth(line))
	}
	return width
}

// split breaks spans at their line breaks.
func split(spans []span) [][]span {
	lines := [][]span{nil}
	for _, s := range spans {
		for i, text := range strings.Split(s.text, "\n") {
			if i > 0 {
				lines = append(lines, nil)
			}
			if text != "" {
				lines[len(lines)-1] = append(lines[len(lines)-1], span{text, s.style})
			}
		}
	}
	return lines
}

// cell is one character, as a reader sees it.
type cell struct {
	text  string
	width int
	style style
}

func cellsOf(spans []span) []cell {
	var cells []cell
	for _, s := range spans {
		for rest := s.text; rest != ""; {
			character, width, n, _ := xansi.DecodeSequence(rest, xansi.NormalState, nil)
			if n == 0 {
				break
			}
			cells = append(cells, cell{character, width, s.style})
			rest = rest[n:]
		}
	}
	return cells
}

func drawCells(cells []cell) string {
	var b strings.Builder
	for at := 0; at < len(cells); {
		var run strings.Builder
		end := at
		for end < len(cells) && cells[end].style == cells[at].style {
			run.WriteString(cells[end].text)
			end++
		}
		b.WriteString(cells[at].style.on(run.String()))
		at = end
	}
	return b.String()
}

// wrap breaks spans into lines that are not wider than `width`, at spaces where there are any.
func wrap(spans []span, width int) []string {
	var lines []string
	for _, line := range split(spans) {
		cells := cellsOf(line)
		for {
			end, next := fit(cells, width)
			lines = append(lines, drawCells(cells[:end]))
			if cells = cells[next:]; len(cells) == 0 {
				break
			}
		}
	}
	return lines
}

// fit returns the end of the longest beginning that fits, and where the next line begins. A line is broken at its last space; the spaces there
// are left out. At least one character fits.
func fit(cells []cell, width int) (end, next int) {
	used, space := 0, -1
	for i, c := range cells {
		if used+c.width > width && i > 0 {
			if c.text == " " {
				space = i
			}
			if space <= 0 {
				return i, i
			}
			for next = space; next < len(cells) && cells[next].text == " "; next++ {
			}
			return space, next
		}
		used += c.width
		if c.text == " " && i > 0 && cells[i-1].text != " " {
			space = i
		}
	}
	return len(cells), len(cells)
}

// wrapCode breaks a line of code at the width, wherever that is. The further lines begin two columns behind the indentation of the line.
func wrapCode(line []span, width int) []string {
	width = max(1, width)
	cells, indent := cellsOf(line), 0
	for indent < len(cells) && cells[indent].text == " " {
		indent++
	}
	indent = min(indent+2, width/2)
	var lines []string
	margin := ""
	for {
		end, used := 0, len(margin)
		for end < len(cells) && (used+cells[end].width <= width || end == 0) {
			used += cells[end].width
			end++
		}
		lines = append(lines, margin+drawCells(cells[:end]))
		if cells = cells[end:]; len(cells) == 0 {
			return lines
		}
		margin = strings.Repeat(" ", indent)
	}
}
