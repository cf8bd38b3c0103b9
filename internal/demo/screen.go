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
	// plainWidth is where lines are wrapped that no terminal shows.
	plainWidth = 100
	// maxWidth keeps lines readable on a wide terminal.
	maxWidth = 110
	// spinEvery is how often the live line moves; on plain output waitEvery is how often
	// a wait is told, first after two seconds.
	spinEvery = 100 * time.Millisecond
	waitFirst = 2 * time.Second
	waitEvery = 10 * time.Second
)

// styles are the colours. Those that a terminal lacks are left out by the writer.
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

// screen writes the demo for a person: in colours with a live line where it is a terminal, else as
// plain lines. It is safe for concurrent use.
type screen struct {
	out   io.Writer
	live  bool
	width int
	began time.Time

	mu   sync.Mutex
	work string // what the live line tells; empty when there is none
	from time.Time
	spin int
}

func newScreen(out io.Writer, plain bool) *screen {
	s := &screen{width: plainWidth, began: time.Now()}
	file, isFile := out.(*os.File)
	profile := colorprofile.NoTTY
	if isFile && !plain && term.IsTerminal(file.Fd()) {
		profile = colorprofile.Detect(file, os.Environ())
		if width, _, err := term.GetSize(file.Fd()); err == nil && width > 0 {
			s.width = min(width, maxWidth)
		}
	}
	s.live = profile > colorprofile.NoTTY
	s.out = &colorprofile.Writer{Forward: out, Profile: profile}
	return s
}

// say writes text and a new line, above the live line.
func (s *screen) say(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	fmt.Fprintln(s.out, strings.TrimRight(text, " "))
	s.draw()
}

// The columns of an entry.
const (
	clock  = 7
	labels = 9
)

// room is how wide the text of an entry may be.
func (s *screen) room() int { return max(20, s.width-clock-labels-1) }

// entry prints text behind a label, wrapped and indented, with the time since the start in front.
func (s *screen) entry(label, text string) {
	at := fmt.Sprintf("%5.1fs ", time.Since(s.began).Seconds())
	for i, line := range strings.Split(lipgloss.Wrap(text, s.room(), ""), "\n") {
		if i == 0 {
			pad := strings.Repeat(" ", max(1, labels-lipgloss.Width(label)))
			s.say(styles.dim.Render(at) + " " + label + pad + line)
		} else {
			s.say(strings.Repeat(" ", clock+labels+1) + line)
		}
	}
}

// ready prints what was got ready.
func (s *screen) ready(what, text string) {
	s.say(fmt.Sprintf("%s %s %s", styles.good.Render("✓"), styles.title.Render(fmt.Sprintf("%-9s", what)), text))
}

// Write prints lines of others: the progress of a build.
func (s *screen) Write(p []byte) (int, error) {
	for line := range strings.Lines(string(p)) {
		s.say("  " + styles.dim.Render(printable.Text(strings.TrimSpace(line))))
	}
	return len(p), nil
}

// working shows what is being waited for until the returned function is called.
func (s *screen) working(what string) (over func()) {
	stop := make(chan struct{})
	var running sync.WaitGroup
	s.mu.Lock()
	s.work, s.from = what, time.Now()
	s.draw()
	s.mu.Unlock()
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
				s.say(fmt.Sprintf("  %s … %.0f s", what, time.Since(s.from).Seconds()))
				every = waitEvery
			}
		}
	})
	return sync.OnceFunc(func() {
		close(stop)
		running.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.clear()
		s.work = ""
	})
}

var spinner = []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")

// draw and clear keep the live line the last one. The caller has the lock.
func (s *screen) draw() {
	if s.live && s.work != "" {
		line := fmt.Sprintf("%c %s  %.1f s", spinner[s.spin%len(spinner)], s.work, time.Since(s.from).Seconds())
		// A line that wraps could not be cleared.
		fmt.Fprint(s.out, styles.dim.MaxWidth(s.width-1).Render(line))
	}
}

func (s *screen) clear() {
	if s.live && s.work != "" {
		fmt.Fprint(s.out, "\r\x1b[K")
	}
}
