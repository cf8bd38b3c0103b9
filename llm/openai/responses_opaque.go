package openai

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/internal/endpoint"
)

// mark is one element of the list in [llm.Opaque.Data]. It stands for one item of a reply. An item of reasoning is in the list as it
// arrived, without white space between its members. For any other item, the list has only data that the message does not have, because
// the client sends the text and the calls of the message.
type mark struct {
	Type string `json:"type"`
	// Phase is the field `phase` of a message: "commentary" or "final_answer". OpenAI's models need it back.
	Phase string `json:"phase,omitempty"`
	// Length is the length of the text of a message, in bytes.
	Length int `json:"length,omitempty"`

	raw json.RawMessage // the item of reasoning
}

// betweenTexts separates the texts of two messages, and two parts of reasoning.
const betweenTexts = "\n\n"

// opaqueOf returns the opaque data for the items of a reply. It returns the zero value if the client would send the same items without the
// data.
func opaqueOf(items []outputItem, family string) llm.Opaque {
	var list []any
	needed, texts, calls := false, 0, 0
	for _, item := range items {
		switch item.kind {
		case "reasoning":
			if raw, ok := item.sendable(); ok {
				list, needed = append(list, raw), true
			}
		case "message":
			if item.said == "" {
				continue
			}
			texts++
			needed = needed || item.phase != "" || texts > 1 || calls > 0
			list = append(list, mark{Type: "message", Phase: item.phase, Length: len(item.said)})
		case "function_call":
			calls++
			list = append(list, mark{Type: "function_call"})
		}
	}
	if !needed {
		return llm.Opaque{}
	}
	data, err := endpoint.Encode(list)
	if err != nil {
		return llm.Opaque{} // an item of reasoning is not JSON
	}
	return llm.Opaque{Family: family, Data: string(data)}
}

// sendable returns the item of reasoning as it can be sent back. It returns false if the item is not valid JSON in UTF-8, or if it has
// neither encrypted nor readable content. The endpoint would refuse an item without content, because such an item is only a reference to
// one that the endpoint has stored.
func (item outputItem) sendable() (json.RawMessage, bool) {
	var raw bytes.Buffer
	if !item.whole || !utf8.Valid(item.raw) || json.Compact(&raw, item.raw) != nil {
		return nil, false
	}
	return raw.Bytes(), true
}

// marksOf returns the marks in opaque data of the given family. If none of them is the mark of a message, marksOf inserts one before
// the first mark of a call, or at the end if there is no such mark. Therefore the text of the message always has a mark.
func marksOf(o llm.Opaque, family string) []mark {
	var list []json.RawMessage
	if o.Family == family && family != "" {
		_ = json.Unmarshal([]byte(o.Data), &list) // what is not a list has no marks
	}
	var marks []mark
	for _, raw := range list {
		m := mark{raw: raw}
		if json.Unmarshal(raw, &m) == nil {
			marks = append(marks, m)
		}
	}
	if slices.ContainsFunc(marks, func(m mark) bool { return m.Type == "message" }) {
		return marks
	}
	call := slices.IndexFunc(marks, func(m mark) bool { return m.Type == "function_call" })
	if call < 0 {
		call = len(marks)
	}
	return slices.Insert(marks, call, mark{Type: "message"})
}

// divide divides the text of a message among the marks of messages. It returns the text of each such mark, by the position of the
// mark. If the lengths in the marks do not fit the text, the last such mark gets the whole text.
func divide(text string, marks []mark) map[int]string {
	texts, last, rest, fits := map[int]string{}, 0, text, true
	for i, m := range marks {
		if m.Type != "message" {
			continue
		}
		if len(texts) > 0 {
			after, found := strings.CutPrefix(rest, betweenTexts)
			rest, fits = after, fits && found
		}
		if fits = fits && m.Length > 0 && m.Length <= len(rest) && (m.Length == len(rest) || utf8.RuneStart(rest[m.Length])); fits {
			texts[i], rest = rest[:m.Length], rest[m.Length:]
		}
		last = i
	}
	if !fits || rest != "" {
		return map[int]string{last: text}
	}
	return texts
}
