package chat

import (
	"context"
	"errors"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/printable"
)

const (
	// maxPicked is the number of agents that the picker offers.
	maxPicked = 100
	// pickerLines is the largest number of agents that are on the screen.
	pickerLines = 12
)

// picker is the list of agents among which the person chooses one to talk with.
type picker struct {
	agents []client.Entry
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

func (m *model) openPicker(msg chatsMsg) {
	switch {
	case msg.attached != m.attached:
	case msg.err != nil && len(msg.agents) == 0:
		m.trouble("The list of agents cannot be read:", msg.err)
	case len(msg.agents) == 0:
		m.note("There is no other agent.")
	default:
		m.picker = &picker{agents: msg.agents}
	}
}

// found returns the agents whose ID, name, status or first message has the text that the person has typed.
func (p *picker) found() []client.Entry {
	return slices.DeleteFunc(slices.Clone(p.agents), func(e client.Entry) bool {
		return !strings.Contains(strings.ToLower(e.ID+" "+e.Agent+" "+string(e.Status)+" "+e.Task), strings.ToLower(p.filter))
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
		e := found[i]
		when := e.Started
		if !e.Ended.IsZero() {
			when = e.Ended
		}
		line := strings.Join([]string{printable.Name(e.ID), printable.Name(e.Agent), printable.Name(string(e.Status)), when.Local().Format("Jan 2 15:04")}, " · ")
		if e.Task != "" {
			line += " · " + printable.Line(e.Task, 200)
		}
		if i == p.at {
			lines = append(lines, cut("» "+line, width))
		} else {
			lines = append(lines, faint.Render(cut("  "+line, width)))
		}
	}
	return lines
}
