package chat

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/printable"
)

// pressPause is the time after which the key y or a decides on a call. If the person goes on typing within this time, the key was the
// first letter of a message, such as "also check the date", and decides nothing.
const pressPause = 600 * time.Millisecond

// press is the key y or a, before it decides.
type press struct {
	letter  string
	verdict verdict
}

type pressedMsg struct{ *press }

// decideByKey takes the key y, n or a, which decides on a call. It does nothing before the keys apply: see [readyPause]. If the call is not
// on the screen, it shows the call.
func (m *model) decideByKey(w client.Waits, name string) tea.Cmd {
	switch {
	case !m.ready(w):
		return nil
	case m.waitHidden():
		m.up = 0
		return nil
	case name == "n":
		m.denying = &w
		return nil
	}
	d := agent.Decision{Approve: true}
	if name == "a" {
		d.Remember = agent.RememberTool
	}
	m.pressed = &press{name, verdict{w, d}}
	return m.later(pressPause, pressedMsg{m.pressed})
}

// waitHidden reports whether the person has scrolled up so far that nothing of the calls that wait is on the screen.
func (m *model) waitHidden() bool { return m.up > 0 && m.up >= len(m.tail()) }

// decidePressed decides as the key says, unless the person has typed more or has taken the key back, or somebody else has decided.
func (m *model) decidePressed(p *press) tea.Cmd {
	if p == nil || m.pressed != p {
		return nil
	}
	m.pressed = nil
	if w := m.approval(); w == nil || w.Call.Key != p.verdict.on.Call.Key {
		return nil // somebody else has decided
	}
	return m.decide(p.verdict)
}

// afterPress takes the key that follows a key y or a within [pressPause]. Enter decides at once. Esc, Backspace and Ctrl-C take the key
// back. A letter makes a message of both. The second result reports whether the key does nothing else.
func (m *model) afterPress(next tea.KeyPressMsg) (tea.Cmd, bool) {
	p := m.pressed
	if p == nil {
		return nil, false
	}
	switch next.String() {
	case "enter":
		return m.decidePressed(p), true
	case "esc", "backspace", "ctrl+c":
		m.pressed = nil
		return nil, true
	}
	if next.Text != "" {
		m.unpress()
	}
	return nil, false
}

// unpress puts the key y or a into the input, because it is the beginning of a message.
func (m *model) unpress() {
	if m.pressed != nil {
		m.input.InsertString(m.pressed.letter)
		m.pressed = nil
	}
}

func (m *model) pressHint() string {
	text := "Approves " + printable.Name(m.pressed.verdict.on.Call.Name)
	if m.pressed.verdict.decision.Remember != "" {
		text += " and later calls"
	}
	return m.fitted(text+" …", "Esc takes it back", "or type on")
}
