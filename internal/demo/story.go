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

// startPatience limits the wait until Temporal knows a sub-agent.
const startPatience = 5 * time.Second

// shownText is the greatest length of a message on the screen, in characters. Calls and results are cut to one line.
const shownText = 700

// story shows on a screen what an agent and its sub-agents say and do, as it happens.
type story struct {
	client *client.Client
	screen *screen
	// first is closed when the first reply of the guide is shown. measured is closed when the reply that calls measure is shown.
	first, measured         chan struct{}
	firstOnce, measuredOnce sync.Once

	subs sync.WaitGroup
	mu   sync.Mutex
	seen map[string]bool // the IDs of the sub-agents that are followed already
}

func newStory(c *client.Client, s *screen) *story {
	return &story{client: c, screen: s, first: make(chan struct{}), measured: make(chan struct{}), seen: map[string]bool{}}
}

// follow shows the messages of an agent until the agent has ended or is held, and returns the status.
func (s *story) follow(ctx context.Context, id, name string) (client.Status, error) {
	tools := map[string]string{}
	for p, err := range s.client.Watch(ctx, id, 0) {
		if err != nil {
			return "", err
		}
		if m := p.Message; m != nil {
			if m.Role == llm.Tool && name == guideAgent {
				// Show the messages of sub-agents before the tool result that contains their answer.
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

// discover follows the sub-agents of an agent that are not followed yet.
func (s *story) discover(ctx context.Context, id string) {
	if strings.Contains(id, "/") {
		return // the ID is that of a sub-agent, which has no sub-agents in this demo
	}
	view, err := s.client.State(ctx, id)
	if err != nil {
		return // the worker does not answer now; follow calls discover again later
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

// followSub shows the messages of a sub-agent. It ignores the sub-agent's status and errors, because the parent's messages show
// how the sub-agent ended. The parent knows the sub-agent's ID a moment before Temporal does; until then followSub tries again.
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

// message shows one message of the agent with that name. The map tools holds the names of the called tools by call ID.
func (s *story) message(name string, m agent.Message, tools map[string]string) {
	label, who := styles.guide, name
	if name == readerAgent {
		label = styles.reader
	}
	content := clip(strings.TrimSpace(printable.Text(m.Content)), shownText)
	switch m.Role {
	case llm.User:
		if name != guideAgent {
			return // the message is the task, which the guide's call has shown already
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

// quiet returns the label of an agent's calls and results. It is less prominent than the label of the agent's text.
func quiet(style lipgloss.Style, who string) string { return style.Bold(false).Faint(true).Render(who) }

// line returns one line of about width columns: the label, the beginning of the result, and the number of its lines if it has
// several.
func line(label, content string, width int) string {
	more := ""
	if n := strings.Count(strings.TrimSpace(content), "\n"); n > 0 {
		more = " (" + plural(n+1, "line") + ")"
	}
	return label + printable.Line(content, max(10, width-lipgloss.Width(label+more))) + more
}

// arguments returns the arguments of a call for people: the value if there is a single argument and it is a string, else the
// JSON.
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
