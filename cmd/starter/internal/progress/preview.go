package progress

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"charm.land/lipgloss/v2"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/screen"
	"github.com/reagent-dev/reagent/internal/printable"
)

// preview shows the text of the running model call so far, or the output of the running tools, in the last lines of a terminal.
// Below the text, one line says what the agent works on. The preview disappears when the complete message arrives. If the output is not
// a terminal, the preview is nil, and [preview.update] and [preview.end] do nothing.
type preview struct {
	out  io.Writer
	size func() (width, height int)

	mu    sync.Mutex
	words *client.PartialText // the partial text; nil means none
	work  string              // the line below the text; empty means none
	drawn []int               // the width of each line that is on the terminal
}

// newPreview returns the preview for a command's standard output. It returns nil if the caller wants no preview. It also
// returns nil if standard output is not a terminal that can redraw lines.
func newPreview(stdout io.Writer, wanted bool) *preview {
	if !wanted || !screen.Redraws(stdout) {
		return nil
	}
	return &preview{out: printable.Unwrap(stdout), size: func() (width, height int) { return screen.Size(stdout) }}
}

// update shows the text of the running model call, or the output of the running tools. Below the text, it shows the line `work`, which says
// what the agent works on. update must be called with every [client.Progress] that [client.Client.Watch] yields.
//
// If the progress contains a message, or a reset of the agent has discarded messages, update removes the preview. While no worker answers,
// or Temporal does not answer, the preview stays as it is.
func (p *preview) update(progress client.Progress, work string) {
	switch {
	case p == nil:
	case progress.Message != nil, progress.Rewound:
		p.show(nil, "")
	case progress.Status != "":
		p.show(shownText(progress), work)
	}
}

const outputLines = 6

// shownText returns the text that the preview shows: the text of the running model call, or the last lines of the output of each
// running tool. If there are several tools, a line with the name is above each output. The result is nil if there is no text.
func shownText(p client.Progress) *client.PartialText {
	if p.PartialText != nil || len(p.ToolOutputs) == 0 {
		return p.PartialText
	}
	var text strings.Builder
	for _, o := range p.ToolOutputs {
		if len(p.ToolOutputs) > 1 {
			fmt.Fprintf(&text, "%s:\n", printable.Name(o.Name))
		}
		text.WriteString(printable.LastLines(o.Text, outputLines))
		text.WriteString("\n")
	}
	return &client.PartialText{Text: text.String(), Said: text.Len()}
}

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

// beside returns a writer for text that must appear above the preview. This writer passes the text on to the given writer.
// The given writer must be on the same terminal as the preview. Each Write must write whole lines. For a nil preview, beside
// returns the given writer.
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

// clear returns the control sequence that removes the preview from the terminal. It also marks the preview as removed, so the
// caller must write the sequence. The caller must hold `p.mu`.
func (p *preview) clear() string {
	if len(p.drawn) == 0 {
		return ""
	}
	width, _ := p.size()
	rows := -1 // the number of rows above the cursor. A terminal that has become narrower shows a line in several rows.
	for _, line := range p.drawn {
		rows += max(1, (line+width-1)/width)
	}
	p.drawn = nil
	if rows == 0 {
		return "\r\x1b[J"
	}
	return fmt.Sprintf("\r\x1b[%dA\x1b[J", rows)
}

// draw writes the given text and then the preview. It writes both at once, because two writes would make the terminal
// flicker. The caller must hold `p.mu`.
func (p *preview) draw(before string) {
	width, height := p.size()
	lines := p.lines(width, height)
	// Keep the last column free, as in lines.
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

// lines returns the last lines of the text that the preview shows, as many as fit on a terminal of the given size. If the text
// comes from a second or later attempt at the model call, the first line begins with the number of this attempt.
func (p *preview) lines(width, height int) []string {
	if p.words == nil {
		return nil
	}
	if p.work != "" && height > 3 {
		height-- // for the line that says what the agent works on
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
	// Keep the last column free: after a character in it, some terminals move the cursor to the next line and others do not.
	room := max(1, width-1)
	lines := strings.Split(lipgloss.Wrap(mark+gap+text, room, ""), "\n")
	// Keep a line above the preview visible. A row that has scrolled off the terminal could not be cleared.
	if most := max(1, height-2); len(lines) > most {
		lines = lines[len(lines)-most:]
		if most > 1 {
			lines[0] = mark + "…"
		}
	}
	for i, line := range lines { // a single character may be wider than the terminal
		lines[i] = lipgloss.NewStyle().MaxWidth(room).Render(line)
	}
	return lines
}
