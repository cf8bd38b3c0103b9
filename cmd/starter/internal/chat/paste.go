package chat

import (
	"fmt"
	"strings"
)

// maxPaste is the size in bytes from which on the input shows a name instead of a pasted text. With 200,000 bytes in the field, a key
// takes a third of a second.
const maxPaste = 20_000

// newlines replaces the ends of lines as terminals and other systems write them. The input field would make two lines of \r\n.
var newlines = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// pasted returns the text that the input shows for a pasted text: the text itself, or a name if it is long. [model.typed] returns the
// text again.
func (m *model) pasted(text string) string {
	text = newlines.Replace(text)
	if len(text) <= maxPaste {
		return text
	}
	m.pastes = append(m.pastes, text)
	return nameOf(len(m.pastes)-1, text)
}

func (m *model) typed() string {
	var names []string
	for i, paste := range m.pastes {
		names = append(names, nameOf(i, paste), paste)
	}
	return strings.NewReplacer(names...).Replace(m.input.Value())
}

func nameOf(i int, paste string) string {
	return fmt.Sprintf("[pasted text %d: %s bytes]", i+1, grouped(len(paste)))
}

// unpaste removes the name of a pasted text from the input, if the cursor is behind it. Without this, Backspace would leave a part of the
// name, which stands for no text, and the agent would get this part. It returns false if there is no such name.
func (m *model) unpaste() bool {
	last, lines := m.input.Line(), strings.Split(m.input.Value(), "\n")
	if last != len(lines)-1 || m.input.Column() != len([]rune(lines[last])) {
		return false
	}
	for i, paste := range m.pastes {
		if rest, ok := strings.CutSuffix(m.input.Value(), nameOf(i, paste)); ok {
			m.input.SetValue(rest)
			return true
		}
	}
	return false
}
