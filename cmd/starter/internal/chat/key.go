package chat

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
)

func (m *model) key(press tea.KeyPressMsg) tea.Cmd {
	if press.String() == "alt+esc" { // Esc twice, so soon that the terminal sends both at once
		esc := tea.KeyPressMsg{Code: tea.KeyEscape}
		return tea.Batch(m.key(esc), m.key(esc))
	}
	if cmd, done := m.afterPress(press); done {
		return cmd
	}
	if cmd, done := m.pickKey(press); done {
		return cmd
	}
	if m.findKey(press) {
		return nil
	}
	name := press.String()
	leaving, stopping := m.leaving, m.stopping
	m.early, m.partly = nil, ""
	m.leaving, m.stopping = name == "ctrl+c", false
	if m.menuKey(name) {
		return nil
	}
	switch name {
	case "ctrl+c":
		if leaving {
			return tea.Quit
		}
	case "esc":
		return m.escape(stopping)
	case "enter":
		return m.enter()
	case "ctrl+o":
		m.expandAll()
	case "ctrl+f":
		m.find()
	case "ctrl+t":
		m.toAnswer()
	case "ctrl+g":
		return m.edit()
	case "ctrl+z":
		return m.suspend()
	case "tab", "alt+up", "shift+tab", "alt+down":
		if m.input.Value() == "" {
			m.choose(name == "tab" || name == "alt+up")
		}
	case "backspace", "ctrl+h", "ctrl+w", "alt+backspace":
		if !m.unpaste() {
			m.recalled = 0
			return m.write(press)
		}
	case "ctrl+l":
		return tea.ClearScreen
	case "pgup":
		m.scroll(m.room() - 1)
	case "pgdown":
		m.scroll(1 - m.room())
	case "home", "end":
		if m.input.Value() != "" {
			m.recalled = 0
			return m.write(press) // moves the cursor
		}
		if m.up, m.revealed = 0, false; name == "home" {
			m.scroll(m.total())
		}
	case "up", "down":
		if m.recall(name) {
			return nil
		}
		return m.write(press)
	default:
		if w := m.approval(); w != nil && m.denying == nil && m.input.Value() == "" && (name == "y" || name == "n" || name == "a" && !isText(w.Call)) {
			return m.decideByKey(*w, name)
		}
		m.recalled = 0
		return m.write(press)
	}
	return nil
}

func (m *model) write(msg tea.Msg) tea.Cmd {
	var cmd tea.Cmd
	m.input, cmd = m.input.Update(msg)
	m.menu.at, m.menu.moved = 0, false
	if m.input.Value() != "" {
		m.selected = nil // Enter sends the text
	}
	return cmd
}

// escape takes back a denial whose reason the person was typing, or clears the input, or ends the selection of a call, or else interrupts
// the agent. While a call waits for a person, only a second Esc interrupts, because the interrupt ends the call. `again` says that the key
// before was Esc, too.
func (m *model) escape(again bool) tea.Cmd {
	selected := m.selected
	m.selected = nil
	switch {
	case m.denying != nil || m.input.Value() != "":
		m.denying, m.recalled = nil, 0
		m.input.Reset()
	case selected != nil || m.takeBack():
	case m.works() && !again && (m.active() != nil || client.CallWaits(m.waitsFor)):
		m.stopping = true
	case m.works():
		return m.interrupt()
	}
	return nil
}

func (m *model) enter() tea.Cmd {
	text, files := m.typed(), mentioned(m.input.Value())
	if w := m.denying; w != nil {
		m.denying = nil
		m.input.Reset()
		return m.decide(verdict{*w, agent.Decision{Reason: strings.TrimSpace(text)}})
	}
	if strings.TrimSpace(text) == "" {
		m.flip()
		return nil
	}
	m.recalled = 0
	m.input.Reset()
	if m.decidesOnly(text) {
		m.note("“" + strings.TrimSpace(text) + "” was not sent, because a call waits for your approval: press y, n or a while the input is empty.")
		return nil
	}
	if c, ok := commandOf(text); ok {
		cmd, err := m.command(c)
		if err != nil {
			m.input.SetValue(m.pasted(text))
			m.note("Not done: " + err.Error() + ".")
			return cmd
		}
		return tea.Batch(cmd, m.keep(text))
	}
	if m.status.Ended() {
		m.input.SetValue(m.pasted(text))
		m.note(m.endText())
		return nil
	}
	if m.asksAgain(text) {
		m.input.SetValue(m.pasted(text))
		return nil
	}
	return tea.Batch(m.say(messageOf(text), files), m.keep(text))
}

// keep adds a text that the person has sent to the history.
func (m *model) keep(text string) tea.Cmd {
	m.entered = append(m.entered, text)
	history := m.o.History
	if history == nil {
		return nil
	}
	return func() tea.Msg { return keptMsg{history.keep(text)} }
}

// earlier returns the texts that the person can bring back, oldest first: those of earlier chats, those of the agent's transcript, and those
// of this chat. Each text is there once.
func (m *model) earlier() []string {
	all := slices.Concat(m.people(), m.entered)
	if m.o.History != nil {
		all = slices.Concat(m.o.History.texts, all)
	}
	seen := map[string]bool{}
	var texts []string
	for _, text := range slices.Backward(all) {
		if !seen[text] {
			texts = append(texts, text)
		}
		seen[text] = true
	}
	slices.Reverse(texts)
	return texts
}

// recall puts the next older text of the person into the input for the key Up, and the next newer one for Down. It returns false and
// does nothing if there is no such message, or if the input has another text, in which the keys move the cursor.
func (m *model) recall(name string) bool {
	texts := m.earlier()
	n := m.recalled + 1
	if name == "down" {
		n = m.recalled - 1
	}
	if m.recalled == 0 && m.input.Value() != "" || n < 0 || n > len(texts) {
		return false
	}
	m.recalled = n
	m.input.Reset()
	if n > 0 {
		m.input.SetValue(m.pasted(texts[len(texts)-n]))
	}
	return true
}

// scroll moves the screen up by a number of lines, or down if it is negative.
func (m *model) scroll(lines int) {
	m.revealed = false
	m.up = max(0, min(m.up+lines, m.total()-m.room()))
}
