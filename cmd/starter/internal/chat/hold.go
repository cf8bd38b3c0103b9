package chat

import "github.com/reagent-dev/reagent/agent"

// hold is where the selected call that waits for an approval stands on the screen.
type hold struct {
	call agent.Key
	// below is the number of lines below the call.
	below int
	// head says that the first line of the call is on the screen. Otherwise, the position `at`, in the arguments or in the title above them,
	// is that of the line at the top of the screen.
	head, arguments bool
	at              int
}

// hold returns nil if no line of the selected call is on the screen.
func (m *model) hold() *hold {
	w := m.approval()
	if w == nil {
		return nil
	}
	lines := m.wait(w, true)
	n, below := len(lines), m.belowHead(*w)+1-len(lines)
	top := max(0, n-(m.up+m.room()-below))
	if top >= min(n, n-(m.up-below)) {
		return nil
	}
	h := &hold{call: w.Call.Key, below: below, head: m.headShown(*w)}
	ends := m.offerOf(w.Call).ends
	titles := n - len(ends)
	if h.arguments = top >= titles; h.arguments {
		top -= titles
	} else {
		ends = endsOf(lines[:titles], 0)
	}
	if top > 0 {
		h.at = ends[top-1]
	}
	return h
}

// stay scrolls after an event that has changed what is above or below the screen, so that what the person reads stays where it is. `before`
// is the number of all lines before the event.
func (m *model) stay(h *hold, before int) {
	if w := m.approval(); h != nil && w != nil && w.Call.Key == h.call {
		m.up = max(0, m.up+m.belowHead(*w)+1-len(m.wait(w, true))-h.below)
		return
	}
	m.up = max(0, m.up+m.scrolledLines()-before)
}

// relaid scrolls after the lines of the conversation have got another layout. The selected call stays on the screen: if its first line was
// there, this line, and otherwise the line that was at the top.
func (m *model) relaid(h *hold, before int) {
	w := m.approval()
	switch {
	case h == nil || w == nil || w.Call.Key != h.call:
		m.stay(nil, before)
	case h.head && (m.revealed || !m.headShown(*w)):
		m.reveal(*w)
		m.revealed = m.up > 0
	case !h.head:
		lines := m.wait(w, true)
		ends := m.offerOf(w.Call).ends
		line := len(lines) - len(ends)
		if h.arguments {
			line += after(ends, h.at)
		} else {
			line = after(endsOf(lines[:line], 0), h.at)
		}
		m.up = max(0, m.belowHead(*w)+1-line-m.room())
	}
}
