package chat

import (
	"slices"

	"github.com/reagent-dev/reagent/client"
)

// choose selects the next older call, or the next newer one. The newest ones are those that wait for the person, one of which is always
// selected unless an ended call is. If no call is selected yet, choose selects the newest call on the screen.
func (m *model) choose(older bool) {
	calls := slices.DeleteFunc(slices.Clone(m.items), func(it *item) bool { return !it.folds() })
	waits := slices.DeleteFunc(slices.Clone(m.waits), func(w client.Waits) bool { return !m.undecided(w) })
	if len(calls)+len(waits) == 0 {
		return
	}
	at := slices.Index(calls, m.selected)
	if w := m.active(); at < 0 && w != nil {
		at = len(calls) + slices.IndexFunc(waits, func(other client.Waits) bool { return other.Call.Key == w.Call.Key })
	}
	switch {
	case at < 0:
		at = max(0, slices.Index(calls, m.lowest(callItem)))
	case older:
		at = max(0, at-1)
	default:
		at = min(len(calls)+len(waits)-1, at+1)
	}
	if m.revealed = false; at >= len(calls) {
		m.selected, m.chosen = nil, waits[at-len(calls)].Call.Key
		m.reveal(waits[at-len(calls)])
		return
	}
	m.selected = calls[at]
	m.show(m.selected)
}

// flip shows the selected call in full, or folds it. The others stay as they are.
func (m *model) flip() {
	if m.selected != nil {
		m.selected.flipped = !m.selected.flipped
		m.show(m.selected)
	}
}

// expandAll shows all calls in full, or folds all of them. What the person reads stays on the screen.
func (m *model) expandAll() {
	held := m.hold()
	if m.selected != nil {
		held = nil
	}
	anchor := m.selected
	if anchor == nil && m.up > 0 {
		anchor = m.lowest(anyItem)
	}
	m.expanded = !m.expanded
	for _, it := range m.items {
		it.flipped = false
	}
	switch {
	case held != nil:
		m.revealed = held.head
		m.relaid(held, 0)
		m.revealed = false
	case anchor != nil:
		m.show(anchor)
	}
	m.scroll(0)
}

// lowest returns the lowest item of a kind that begins on the screen. If none does, it returns the lowest one that begins above the
// screen; nil if there is none.
func (m *model) lowest(kind itemKind) *item {
	below := len(m.tail())
	for _, it := range slices.Backward(m.items) {
		if below += len(m.linesOf(it)); below > m.up && (it.kind == kind || kind == callItem && it.folds() || kind == anyItem) {
			return it
		}
	}
	return nil
}

// show scrolls until an item is on the screen; if it is too long, until its first line is.
func (m *model) show(it *item) {
	below, own := len(m.tail()), 0
	for _, other := range slices.Backward(m.items) {
		own = len(m.linesOf(other))
		if other == it {
			break
		}
		below += own
	}
	m.up = max(0, min(m.up, below), below+own-m.room())
}
