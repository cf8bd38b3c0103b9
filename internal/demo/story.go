package demo

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"charm.land/lipgloss/v2"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/llm"
)

// startPatience bounds the wait for a sub-agent to be there.
const startPatience = 5 * time.Second

// shownText bounds what of a message is shown. Calls and results have one line.
const shownText = 700

// story tells what an agent and its sub-agents say and do, as it comes.
type story struct {
	client *client.Client
	screen *screen
	// first is closed when the first message of the agent itself is shown, measured when
	// the one is that calls measure.
	first, measured         chan struct{}
	firstOnce, measuredOnce sync.Once

	subs sync.WaitGroup
	mu   sync.Mutex
	seen map[string]bool // sub-agents that are followed
}

func newStory(c *client.Client, s *screen) *story {
	return &story{client: c, screen: s, first: make(chan struct{}), measured: make(chan struct{}), seen: map[string]bool{}}
}

// follow shows an agent to its end, or to where somebody has to act, and returns how it stands.
func (s *story) follow(ctx context.Context, id, name string) (client.Status, error) {
	tools := map[string]string{}
	for p, err := range s.client.Watch(ctx, id, 0) {
		if err != nil {
			return "", err
		}
		if m := p.Message; m != nil {
			if m.Role == llm.Tool && name == guideAgent {
				// What a sub-agent said comes before the result that it ended in.
				s.discover(ctx, id)
				s.subs.Wait()
			}
			s.message(name, *m, tools)
		} else if p.Status == client.Running && name == guideAgent {
			s.discover(ctx, id)
		}
		if p.Status == client.Held || p.Status.Ended() {
			return p.Status, nil
		}
	}
	return "", context.Cause(ctx)
}

// discover finds sub-agents that were not there before, and follows them.
func (s *story) discover(ctx context.Context, id string) {
	if strings.Contains(id, "/") {
		return // a sub-agent, which has none
	}
	view, err := s.client.State(ctx, id)
	if err != nil {
		return // the worker is gone for now; asked again when there is more to see
	}
	for _, child := range view.Children {
		s.mu.Lock()
		known := s.seen[child.ID]
		s.seen[child.ID] = true
		s.mu.Unlock()
		if !known {
			s.subs.Go(func() { s.followSub(ctx, child.ID, child.Agent) })
		}
	}
}

// followSub shows a sub-agent, whose end is its parent's to tell. The parent knows its ID
// a moment before Temporal does.
func (s *story) followSub(ctx context.Context, id, name string) {
	for deadline := time.Now().Add(startPatience); time.Now().Before(deadline); {
		if _, err := s.follow(ctx, id, name); !errors.Is(err, client.ErrNotFound) {
			return
		}
		select {
		case <-time.After(settlePoll):
		case <-ctx.Done():
			return
		}
	}
}

func (s *story) message(name string, m agent.Message, tools map[string]string) {
	label, who := styles.guide, name
	if name == readerAgent {
		label = styles.reader
	}
	content := clip(strings.TrimSpace(printable.Text(m.Content)), shownText)
	switch m.Role {
	case llm.User:
		if name != guideAgent {
			return // the task, which the call showed
		}
		s.screen.entry(styles.you.Render("you"), content)
	case llm.Tool:
		s.screen.entry(quiet(label, who), styles.dim.Render(line("◂ "+tools[m.ToolCallID]+": ", m.Content, s.screen.room())))
	default:
		if content != "" {
			s.screen.entry(label.Render(who), content)
		}
		for _, c := range m.ToolCalls {
			tool := printable.Line(c.Name, 100)
			tools[c.ID] = tool
			s.screen.entry(quiet(label, who), styles.tool.Render("▸ "+tool)+" "+styles.dim.Render(
				printable.Line(arguments(c.Arguments), max(10, s.screen.room()-lipgloss.Width(tool)-3))))
			if c.Name == measureTool {
				defer s.measuredOnce.Do(func() { close(s.measured) })
			}
		}
		if name == guideAgent {
			s.firstOnce.Do(func() { close(s.first) })
		}
	}
}

// quiet is the label of lines that go on with what an agent does.
func quiet(style lipgloss.Style, who string) string { return style.Bold(false).Faint(true).Render(who) }

// line is the beginning of a result, and how many lines it has, in one line of a width.
func line(label, content string, width int) string {
	more := ""
	if n := strings.Count(strings.TrimSpace(content), "\n"); n > 0 {
		more = " (" + plural(n+1, "line") + ")"
	}
	return label + printable.Line(content, max(10, width-lipgloss.Width(label+more))) + more
}

// arguments writes the arguments of a call as a person would.
func arguments(text string) string {
	var in map[string]any
	if err := json.Unmarshal([]byte(text), &in); err != nil || len(in) != 1 {
		return text
	}
	for _, value := range in {
		if s, ok := value.(string); ok {
			return s
		}
	}
	return text
}

func clip(text string, limit int) string {
	if runes := []rune(text); len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return text
}
