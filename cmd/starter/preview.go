package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/term"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/printable"
)

// preview shows, as the last lines of a terminal, what a model says while it says it, and below it a line that says what the
// agent works on. The message takes their place when it comes. Where there is no terminal it is nil, and does nothing.
type preview struct {
	out  io.Writer
	size func() (width, height int)

	mu    sync.Mutex
	words *client.PartialText
	work  string
	drawn []int // the width of each line that is on the terminal
}

// newPreview returns the preview for a command's standard output. It is nil where that is no terminal
// on which lines can be drawn anew, and where none is wanted.
func newPreview(stdout io.Writer, wanted bool) *preview {
	file, ok := printable.Unwrap(stdout).(*os.File)
	if !ok || !wanted || !term.IsTerminal(file.Fd()) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	return &preview{out: file, size: func() (width, height int) {
		width, height, err := term.GetSize(file.Fd())
		if err != nil || width <= 0 || height <= 0 {
			return 80, 24
		}
		return width, height
	}}
}

// update takes what [client.Client.Watch] yields, and the line that says what the agent works on. While nobody answers nothing
// is known, and what was shown stays.
func (p *preview) update(progress client.Progress, work string) {
	switch {
	case p == nil:
	case progress.Message != nil, progress.Rewound:
		p.show(nil, "")
	case progress.Status != "":
		p.show(progress.PartialText, work)
	}
}

// end takes the preview away.
func (p *preview) end() {
	if p != nil {
		p.show(nil, "")
	}
}

func (p *preview) show(words *client.PartialText, work string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	same := words == p.words || words != nil && p.words != nil && *words == *p.words
	if same && work == p.work {
		return
	}
	p.words, p.work = words, work
	p.draw(p.clear())
}

// beside returns a writer of whole lines to the same terminal, above the preview.
func (p *preview) beside(out io.Writer) io.Writer {
	if p == nil {
		return out
	}
	return above{p, out}
}

type above struct {
	preview *preview
	out     io.Writer
}

func (a above) Write(text []byte) (int, error) {
	a.preview.mu.Lock()
	defer a.preview.mu.Unlock()
	if gone := a.preview.clear(); gone != "" {
		fmt.Fprint(a.preview.out, gone)
	}
	n, err := a.out.Write(text)
	a.preview.draw("")
	return n, err
}

// clear returns what takes the preview off the terminal. The terminal may have become narrower
// since, which breaks lines. The caller has the lock.
func (p *preview) clear() string {
	if len(p.drawn) == 0 {
		return ""
	}
	width, _ := p.size()
	rows := -1
	for _, line := range p.drawn {
		rows += max(1, (line+width-1)/width)
	}
	p.drawn = nil
	if rows == 0 {
		return "\r\x1b[J"
	}
	return fmt.Sprintf("\r\x1b[%dA\x1b[J", rows)
}

// draw writes what comes before and the preview at once, or the terminal would flicker. The caller has the lock.
func (p *preview) draw(before string) {
	width, height := p.size()
	lines := p.lines(width, height)
	// The last column stays free, as in lines.
	if room := max(1, width-1); p.work != "" && height > len(lines)+1 {
		lines = append(lines, lipgloss.NewStyle().MaxWidth(room).Render("… "+p.work))
	}
	for i, line := range lines {
		p.drawn = append(p.drawn, lipgloss.Width(line))
		lines[i] = "\x1b[2m" + line + "\x1b[0m" // faint
	}
	if text := before + strings.Join(lines, "\n"); text != "" {
		fmt.Fprint(p.out, text)
	}
}

// lines are the last of the words that fit on the terminal. One that began anew says so: what was
// read before is void.
func (p *preview) lines(width, height int) []string {
	if p.words == nil {
		return nil
	}
	if p.work != "" && height > 3 {
		height-- // for the line below
	}
	text := strings.ReplaceAll(printable.Text(p.words.Text), "\t", "  ")
	text = strings.TrimRight(text, " \n")
	mark, gap := "", ""
	if p.words.Attempt > 1 {
		mark = fmt.Sprintf("(attempt %d) ", p.words.Attempt)
	}
	if p.words.Said > len(p.words.Text) {
		gap = "…"
	}
	// The last column stays free: a line that fills it moves the cursor on some terminals and not on others.
	room := max(1, width-1)
	lines := strings.Split(lipgloss.Wrap(mark+gap+text, room, ""), "\n")
	// A line above stays in sight; and what has left the terminal could not be cleared.
	if most := max(1, height-2); len(lines) > most {
		lines = lines[len(lines)-most:]
		if most > 1 {
			lines[0] = mark + "…"
		}
	}
	for i, line := range lines { // a character wider than the terminal
		lines[i] = lipgloss.NewStyle().MaxWidth(room).Render(line)
	}
	return lines
}
