package chat

import (
	"fmt"
	"slices"
	"strings"
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

// decideByKey takes the key y, n or a, which decides on the call that waits and is selected. It does nothing before the keys apply: see
// [readyPause]. If the call is not on the screen, or an ended call is selected, it selects and shows the call. If it is y or a, and lines
// of the call have never been on the screen, it shows the next of them. In both cases the keys apply after another pause. A denial needs no
// look at all lines: a call that is denied does nothing, and the person still confirms the denial with Enter.
func (m *model) decideByKey(w client.Waits, name string) tea.Cmd {
	switch {
	case !m.ready(w):
		m.early = m.showing
		return nil
	case m.selected != nil || !m.inView(w):
		m.selected = nil
		if !m.inView(w) {
			m.turn(w)
		}
		return m.showAgain(w)
	case name == "n":
		m.denying = &w
		return nil
	case !m.whole(w):
		m.partly = w.Call.Key
		m.turn(w)
		return m.showAgain(w)
	}
	d := agent.Decision{Approve: true}
	if name == "a" {
		d.Remember = agent.RememberTool
	}
	m.pressed = &press{name, verdict{w, d}}
	return m.later(pressPause, pressedMsg{m.pressed})
}

// decidesOnly reports whether a text is one of the keys that decide, while a call waits for an approval. Such a text is no message: the
// person wanted to decide.
func (m *model) decidesOnly(text string) bool {
	waits := m.approval() != nil || m.active() == nil && m.waitsFor == client.WaitsForApproval
	return waits && isVerdictKey(strings.TrimSpace(text))
}

func isVerdictKey(text string) bool { return len(text) == 1 && strings.ContainsAny(text, "yYnNaA") }

// belowHead returns the number of lines from the first line of a call that waits to the end of the conversation.
func (m *model) belowHead(w client.Waits) int {
	active, n := m.active(), 0
	for i := range slices.Backward(m.waits) {
		n += len(m.wait(&m.waits[i], &m.waits[i] == active))
		if m.waits[i].Call.Key == w.Call.Key {
			break
		}
	}
	return n - 1 // the first line is empty
}

// headShown reports whether the first line of a call that waits is on the screen.
func (m *model) headShown(w client.Waits) bool {
	below := m.belowHead(w)
	return m.up < below && below <= m.up+m.room()
}

// inView reports whether a call that waits is on the screen: its first line, or further lines of it and not the first line of another call
// that waits, which a person could take for the one that is decided.
func (m *model) inView(w client.Waits) bool {
	if m.headShown(w) {
		return true
	}
	if slices.ContainsFunc(m.waits, m.headShown) {
		return false
	}
	n := len(m.wait(&w, true))
	below := m.belowHead(w) + 1 - n
	return m.up < below+n && below < m.up+m.room()
}

// turn scrolls to the first lines of a call that have not been on the screen. If all have been, it shows the last ones.
func (m *model) turn(w client.Waits) {
	m.revealed = false
	lines := m.wait(&w, true)
	n, room := len(lines), m.room()
	from := m.unseen(w, lines)
	if from <= 1 {
		m.reveal(w)
		return
	}
	from -= min(1, max(0, room-1)) // one line that the person has seen
	below := m.belowHead(w) + 1 - n
	m.up = max(below, below+n-from-room)
}

// reveal scrolls to the newest lines, or if there are too many of them, to the first line of a call that waits.
func (m *model) reveal(w client.Waits) { m.up = max(0, m.belowHead(w)-m.room()) }

// decidePressed decides as the key says, unless the person has typed more or has taken the key back, or somebody else has decided.
func (m *model) decidePressed(p *press) tea.Cmd {
	if p == nil || m.pressed != p {
		return nil
	}
	m.pressed = nil
	if w := m.approval(); w == nil || w.Call.Key != p.verdict.on.Call.Key {
		return nil // somebody else has decided
	}
	m.up = 0
	decide := []tea.Cmd{m.decide(p.verdict)}
	for _, w := range p.verdict.on.Alike(m.waits) {
		if p.verdict.decision.Remember != "" && m.deciding(w) == nil {
			decide = append(decide, m.decide(verdict{w, agent.Decision{Approve: true}}))
		}
	}
	return tea.Batch(decide...)
}

// withAlike says how many calls that wait already the key a approves, and how many of them the person has not seen to their ends, such as
// "the 2 others (1 not seen) and "; empty if there are none.
func (m *model) withAlike(w client.Waits) string {
	all := w.Alike(m.waits)
	unseen := 0
	for _, other := range all {
		if !m.whole(other) {
			unseen++
		}
	}
	switch n := len(all); {
	case n == 0:
		return ""
	case n == 1 && unseen == 0:
		return "the other and "
	case n == 1:
		return "the other (not seen) and "
	case unseen == 0:
		return fmt.Sprintf("the %d others and ", n)
	default:
		return fmt.Sprintf("the %d others (%d not seen) and ", n, unseen)
	}
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
	text, short := "Approves "+printable.Name(m.pressed.verdict.on.Call.Name), "Approves it"
	if m.pressed.verdict.decision.Remember != "" {
		text, short = text+", "+m.withAlike(m.pressed.verdict.on)+"all later calls", "Approves all"
	}
	const back, on = "Esc takes it back", "or type on"
	return m.hintsOf(2, []string{text + " …", back, on}, []string{short + " …", back, on})
}
