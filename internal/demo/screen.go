package demo

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/term"

	"github.com/reagent-dev/reagent/internal/printable"
)

const (
	// plainWidth is the width of lines if the output is not a terminal, in columns.
	plainWidth = 100
	// maxWidth is the greatest width of lines on a terminal. Longer lines are hard to read.
	maxWidth = 110
	// spinEvery is the pause between two updates of the live line. Without a live line, a wait is reported after waitFirst, then
	// after each waitEvery, and once a minute after the first minute.
	spinEvery = 100 * time.Millisecond
	waitFirst = 2 * time.Second
	waitEvery = 10 * time.Second
)

// styles holds the styles of the output. The writer of the screen removes colours that the terminal does not support.
var styles = struct {
	title, dim, good, bad, you, guide, reader, tool lipgloss.Style
}{
	title:  lipgloss.NewStyle().Bold(true),
	dim:    lipgloss.NewStyle().Faint(true),
	good:   lipgloss.NewStyle().Foreground(lipgloss.Green),
	bad:    lipgloss.NewStyle().Foreground(lipgloss.Red).Bold(true),
	you:    lipgloss.NewStyle().Foreground(lipgloss.Yellow).Bold(true),
	guide:  lipgloss.NewStyle().Foreground(lipgloss.Cyan).Bold(true),
	reader: lipgloss.NewStyle().Foreground(lipgloss.Magenta).Bold(true),
	tool:   lipgloss.NewStyle().Foreground(lipgloss.Blue),
}

// screen writes the demo's output for people: with colours and a live line on a terminal, else as plain lines. The live line is
// the last line of the terminal and shows what the demo waits for. A screen is safe for concurrent use.
type screen struct {
	out   io.Writer
	live  bool
	width int
	// wraps says that the screen wraps lines that are wider than width. A terminal would break them within words.
	wraps bool
	began time.Time

	mu   sync.Mutex
	work string    // what the demo waits for; empty if it does not wait
	from time.Time // when the wait began
	spin int       // the position of the spinner
}

func newScreen(out io.Writer, plain bool) *screen {
	s := &screen{width: plainWidth, began: time.Now()}
	file, isFile := out.(*os.File)
	profile := colorprofile.NoTTY
	if isFile && !plain && term.IsTerminal(file.Fd()) {
		profile = colorprofile.Detect(file, os.Environ())
		if width, _, err := term.GetSize(file.Fd()); err == nil && width > 0 {
			s.width, s.wraps = min(width, maxWidth), true
		}
	}
	s.live = profile > colorprofile.NoTTY
	s.out = &colorprofile.Writer{Forward: out, Profile: profile}
	return s
}

// say writes text and a newline above the live line.
func (s *screen) say(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	text = strings.TrimRight(text, " ")
	if s.wraps {
		text = strings.Join(wrap(text, s.width-1), "\n  ")
	}
	fmt.Fprintln(s.out, text)
	s.draw()
}

// clock and labels are the widths of the time and of the label in front of an entry's text, in columns.
const (
	clock  = 7
	labels = 9
)

// room returns the greatest width of an entry's text, in columns.
func (s *screen) room() int { return max(20, s.width-clock-labels-1) }

// entry prints text behind a label, wrapped and indented, with the time since the start in front.
func (s *screen) entry(label, text string) {
	at := fmt.Sprintf("%5.1fs ", time.Since(s.began).Seconds())
	for i, line := range wrap(text, s.room()) {
		if i == 0 {
			pad := strings.Repeat(" ", max(1, labels-lipgloss.Width(label)))
			s.say(styles.dim.Render(at) + " " + label + pad + line)
		} else {
			s.say(strings.Repeat(" ", clock+labels+1) + line)
		}
	}
}

// ready prints that a part of the demo is ready, with a text about it.
func (s *screen) ready(what, text string) {
	s.say(fmt.Sprintf("%s %s %s", styles.good.Render("✓"), styles.title.Render(fmt.Sprintf("%-9s", what)), text))
}

// Write prints the lines of another writer's output, such as the progress of a build. Each Write must write whole lines.
func (s *screen) Write(p []byte) (int, error) {
	for line := range strings.Lines(string(p)) {
		s.say("  " + styles.dim.Render(printable.Text(strings.TrimSpace(line))))
	}
	return len(p), nil
}

// wrap returns text in lines of at most width columns, broken at spaces. A word that is wider, such as the address of
// a page, has a line of its own and stays whole. A line that fits keeps its spaces.
func wrap(text string, width int) []string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if lipgloss.Width(line) <= width {
			lines = append(lines, line)
			continue
		}
		now, wide := "", 0
		for word := range strings.FieldsSeq(line) {
			w := lipgloss.Width(word)
			if wide > 0 && wide+1+w > width {
				lines, now, wide = append(lines, now), "", 0
			}
			if wide > 0 {
				now, wide = now+" ", wide+1
			}
			now, wide = now+word, wide+w
		}
		lines = append(lines, now)
	}
	return lines
}

// working shows what the demo waits for, until the function over is called. A wait within another wait hides the outer one until
// its own end. The second call of over does nothing.
func (s *screen) working(what string) (over func()) {
	stop := make(chan struct{})
	var running sync.WaitGroup
	s.mu.Lock()
	s.clear()
	before, since := s.work, s.from
	s.work, s.from = what, time.Now()
	s.draw()
	s.mu.Unlock()
	began := time.Now()
	running.Go(func() {
		every := waitFirst
		if s.live {
			every = spinEvery
		}
		for {
			select {
			case <-stop:
				return
			case <-time.After(every):
			}
			if s.live {
				s.mu.Lock()
				s.clear()
				s.spin++
				s.draw()
				s.mu.Unlock()
			} else {
				if tell := s.waited(what); tell != "" {
					s.say(tell)
				}
				if every = waitEvery; time.Since(began) >= time.Minute {
					every = time.Minute
				}
			}
		}
	})
	return sync.OnceFunc(func() {
		close(stop)
		running.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.clear()
		s.work, s.from = before, since
		s.draw()
	})
}

// waited returns a line with the duration of the wait so far. It is empty while another wait within this wait is shown.
func (s *screen) waited(what string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.work != what {
		return ""
	}
	return fmt.Sprintf("  %s … %s", what, lasting(time.Since(s.from)))
}

// lasting returns a duration in seconds, or in minutes and seconds.
func lasting(d time.Duration) string {
	if seconds := int(d.Seconds()); seconds >= 60 {
		return fmt.Sprintf("%d min %d s", seconds/60, seconds%60)
	}
	return fmt.Sprintf("%.0f s", d.Seconds())
}

var spinner = []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")

// draw writes the live line, if there is one. The caller must hold mu.
func (s *screen) draw() {
	if s.live && s.work != "" {
		line := fmt.Sprintf("%c %s  %s", spinner[s.spin%len(spinner)], s.work, lasting(time.Since(s.from)))
		// Cut the line at the width of the terminal: clear could not remove a line that wraps.
		fmt.Fprint(s.out, styles.dim.MaxWidth(s.width-1).Render(line))
	}
}

// clear removes the live line, if there is one. The caller must hold mu.
func (s *screen) clear() {
	if s.live && s.work != "" {
		fmt.Fprint(s.out, "\r\x1b[K")
	}
}
