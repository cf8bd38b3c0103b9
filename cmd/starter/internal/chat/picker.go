package chat

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"golang.org/x/sync/errgroup"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/printable"
)

const (
	// maxPicked is the number of agents that the picker offers.
	maxPicked = 100
	// pickerLines is the largest number of agents that are on the screen.
	pickerLines = 12
	// readAtOnce is the number of agents whose states are read at the same time, because each read loads a history.
	readAtOnce = 8
	// statesTime is how long the reading of all states may take.
	statesTime = 20 * time.Second
)

// picker is the list of agents among which the person chooses one to talk with.
type picker struct {
	agents []client.Entry
	// states are the states of those that had not ended, by their IDs. They are read after the list is on the screen.
	states map[string]client.Snapshot
	// filter is what the person has typed, and at is the index of the selected agent among those that have it.
	filter string
	at     int
}

// chatsMsg has the agents for the picker.
type chatsMsg struct {
	attached int
	agents   []client.Entry
	err      error
}

// chats reads the agents for the picker. Sub-agents are left out: a person talks with the agents above them.
func (m *model) chats() tea.Cmd {
	ctx, agents, id, attached := m.ctx, m.o.Agents, m.id, m.attached
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(ctx, 2*reachTime)
		defer cancel()
		msg := chatsMsg{attached: attached}
		for e, err := range agents.List(ctx, client.ListOptions{}) {
			if err != nil {
				msg.err = err
				break
			}
			if e.Parent == "" && e.ID != id {
				msg.agents = append(msg.agents, e)
			}
			if len(msg.agents) == maxPicked {
				break
			}
		}
		return msg
	}
}

// statesMsg has the states of the agents in a picker.
type statesMsg struct {
	of     *picker
	states map[string]client.Snapshot
}

// readStates reads what the agents of a picker wait for, which the list of Temporal does not have. An agent that cannot be read has no state.
func (m *model) readStates(p *picker) tea.Cmd {
	ctx, agents := m.ctx, m.o.Agents
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(ctx, statesTime)
		defer cancel()
		msg := statesMsg{p, map[string]client.Snapshot{}}
		var mu sync.Mutex
		var group errgroup.Group
		group.SetLimit(readAtOnce)
		for _, e := range p.agents {
			if e.Status.Ended() {
				continue
			}
			group.Go(func() error {
				if snap, err := agents.DescribeEntry(ctx, e); err == nil {
					mu.Lock()
					defer mu.Unlock()
					msg.states[e.ID] = snap
				}
				return nil
			})
		}
		_ = group.Wait() // no function returns an error
		return msg
	}
}

func (m *model) openPicker(msg chatsMsg) tea.Cmd {
	switch {
	case msg.attached != m.attached:
	case msg.err != nil && len(msg.agents) == 0:
		m.trouble("The list of agents cannot be read:", msg.err)
	case len(msg.agents) == 0:
		m.note("There is no other agent.")
	default:
		m.picker = &picker{agents: msg.agents}
		return m.readStates(m.picker)
	}
	return nil
}

// state says what an agent does, and what it waits for.
func (p *picker) state(e client.Entry) string {
	snap, known := p.states[e.ID]
	switch text := waitTexts[snap.WaitsFor]; {
	case !known:
		return string(e.Status)
	case snap.WaitsFor == client.WaitsForRelease:
		return "held, waits for you"
	case text != "":
		return text
	case snap.Status == client.Running:
		return "works"
	}
	return string(snap.Status)
}

// found returns the agents whose ID, name, state or first message has the text that the person has typed.
func (p *picker) found() []client.Entry {
	return slices.DeleteFunc(slices.Clone(p.agents), func(e client.Entry) bool {
		return !strings.Contains(strings.ToLower(e.ID+" "+e.Agent+" "+p.state(e)+" "+e.Task), strings.ToLower(p.filter))
	})
}

// pickKey takes a key for the picker. It returns false if the picker is not on the screen.
func (m *model) pickKey(press tea.KeyPressMsg) (tea.Cmd, bool) {
	p := m.picker
	if p == nil {
		return nil, false
	}
	found := p.found()
	switch press.String() {
	case "esc", "ctrl+c":
		m.picker = nil
	case "up", "shift+tab":
		p.at = max(0, p.at-1)
	case "down", "tab":
		p.at = max(0, min(len(found)-1, p.at+1))
	case "pgup":
		p.at = max(0, p.at-pickerLines)
	case "pgdown":
		p.at = max(0, min(len(found)-1, p.at+pickerLines))
	case "backspace", "ctrl+h":
		if text := []rune(p.filter); len(text) > 0 {
			p.filter, p.at = string(text[:len(text)-1]), 0
		}
	case "enter":
		if m.picker = nil; p.at < len(found) {
			return m.open(found[p.at].ID), true
		}
	default:
		p.filter, p.at = p.filter+oneLine(press.Text), 0
	}
	return nil, true
}

// open goes on with another agent.
func (m *model) open(id string) tea.Cmd {
	if len(m.decisions) > 0 {
		m.trouble("This chat goes on:", errors.New("a decision is being sent; wait until the agent has it, or take it back with Esc"))
		return nil
	}
	if slices.ContainsFunc(m.outbox, func(o *outgoing) bool { return !o.received }) {
		m.trouble("This chat goes on:", errors.New("a message is being sent; wait until the agent has it"))
		return nil
	}
	m.choice = modelChoice{} // a fork keeps it, another agent may not have the model
	m.attach(id, true)
	return m.follow()
}

// view returns the lines of the picker.
func (p *picker) view(width, height int) []string {
	found := p.found()
	room := max(1, min(pickerLines, height/2))
	begin := max(0, min(p.at-room/2, len(found)-room))
	lines := []string{cut("Chats "+p.filter, width)}
	for i := begin; i < len(found) && i < begin+room; i++ {
		line := entryLine(found[i], p.state(found[i]), width-2)
		if i == p.at {
			lines = append(lines, "» "+line)
		} else {
			lines = append(lines, faint.Render("  "+line))
		}
	}
	return lines
}

const (
	// minTask is the number of columns that the task has before the date of its agent has any, and narrow the width below which the name of the
	// definition has none.
	minTask = 20
	narrow  = 60
)

// entryLine returns the line of an agent in a picker: its ID, definition, state and task, and the date of its start or end.
func entryLine(e client.Entry, state string, width int) string {
	parts := []string{printable.Name(e.ID), printable.Name(e.Agent), printable.Name(state)}
	if width < narrow {
		parts = slices.Delete(parts, 1, 2)
	}
	when := e.Started
	if !e.Ended.IsZero() {
		when = e.Ended
	}
	line, date := strings.Join(parts, " · "), " · "+when.Local().Format("Jan 2 15:04")
	if e.Task != "" {
		line += " · " + printable.Line(e.Task, 200)
	}
	if fits := ansi.StringWidth(line)+ansi.StringWidth(date) <= width; !fits {
		begin := ansi.StringWidth(strings.Join(parts, " · ")) + minTask
		if begin+ansi.StringWidth(date) > width {
			return cut(line, width)
		}
		line = cut(line, width-ansi.StringWidth(date))
	}
	return line + date
}
