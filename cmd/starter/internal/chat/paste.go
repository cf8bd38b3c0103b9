package chat

import (
	"fmt"
	"strings"
)

// maxPaste is the size in bytes of the longest pasted text that the input shows. For a longer text, it shows a name, because with 200,000
// bytes in the field a key takes a third of a second.
const maxPaste = 20_000

// newlines makes \n of the line breaks \r\n and \r, which terminals and other systems use. The input field would make two of \r\n.
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

// unpaste removes the name of a pasted text from the input. It returns false if there is no such name before the cursor, which must be at
// the end of the input. Without unpaste, Backspace would leave a part of the name, and the agent would get this part.
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
