package chat

import (
	"fmt"
	"strings"
)

// maxPaste is the size in bytes from which on the input shows a name instead of a pasted text. With 200,000 bytes in the field, a key
// takes a third of a second.
const maxPaste = 20_000

// pasted returns the text that the input shows for a pasted text: the text itself, or a name if it is long. [model.typed] returns the
// text again.
func (m *model) pasted(text string) string {
	if len(text) <= maxPaste {
		return text
	}
	m.pastes = append(m.pastes, text)
	return fmt.Sprintf("[pasted text %d: %s bytes]", len(m.pastes), grouped(len(text)))
}

// typed returns the text in the input, with the pasted texts instead of their names.
func (m *model) typed() string {
	text := m.input.Value()
	var names []string
	for i, paste := range m.pastes {
		names = append(names, fmt.Sprintf("[pasted text %d: %s bytes]", i+1, grouped(len(paste))), paste)
	}
	return strings.NewReplacer(names...).Replace(text)
}
