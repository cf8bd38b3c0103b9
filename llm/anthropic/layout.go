package anthropic

import (
	"encoding/json"
	"strings"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/internal/endpoint"
)

// place is one element of a layout. A layout is a list that describes the blocks of a reply, in their order. The client stores
// the list as the data of the message's [llm.Opaque]. There are three kinds of elements:
//   - {"type":"text","length":n} stands for the next n bytes of the message's text.
//   - {"type":"tool_use"} stands for the next tool call of the message.
//   - Any other element is a block that the client sends back unchanged, such as a thinking block with its signature.
type place struct {
	Type   string `json:"type"`
	Length int    `json:"length,omitempty"`
}

// layoutOf returns the layout of a reply for a family. It returns an empty Opaque if no block of the reply must be sent back unchanged, or
// if such a block is not valid JSON.
func layoutOf(pieces []piece, family string) llm.Opaque {
	var elements []json.RawMessage
	needed := false
	for _, p := range pieces {
		element, err := p.raw, error(nil)
		switch {
		case p.raw != nil:
			needed = true
		case p.kind == "text" && p.text != "":
			element, err = endpoint.Encode(place{Type: p.kind, Length: len(p.text)})
		case p.kind == "tool_use":
			element, err = endpoint.Encode(place{Type: p.kind})
		default:
			continue
		}
		if err == nil {
			elements = append(elements, element)
		}
	}
	if !needed {
		return llm.Opaque{}
	}
	data, err := endpoint.Encode(elements)
	if err != nil {
		return llm.Opaque{} // the endpoint sent invalid JSON
	}
	return llm.Opaque{Family: family, Data: strings.ToValidUTF8(string(data), "\uFFFD")}
}

// assistantBlocks returns the content of an assistant message. `calls` are the blocks of its tool calls. Raw blocks of earlier replies
// are sent only if `family` made them: see [block.raw]. If `family` is empty, none are sent.
func assistantBlocks(m llm.Message, calls []block, family string) []block {
	said := m.Content
	var elements []json.RawMessage
	if family != "" && m.Opaque.Family == family {
		_ = json.Unmarshal([]byte(m.Opaque.Data), &elements) // if there is no list, the text comes first, and then the calls
	}
	if textLength(elements) != len(said) {
		elements = withoutText(elements) // the text was changed after the reply: all of it goes to the place of the first text
	}
	var all []block
	for _, element := range elements {
		var p place
		_ = json.Unmarshal(element, &p)
		switch {
		case p.Type == "text":
			length := len(said)
			if p.Length > 0 && p.Length < length {
				length = p.Length
			}
			all, said = appendText(all, said[:length]), said[length:]
		case p.Type == "tool_use" && len(calls) > 0:
			all, calls = append(all, calls[0]), calls[1:]
		case p.Type != "tool_use" && p.Type != "":
			all = append(all, block{raw: element, Type: p.Type})
		}
	}
	for len(all) > 0 && all[len(all)-1].thinks() && strings.TrimSpace(said) == "" && len(calls) == 0 {
		all = all[:len(all)-1] // the API refuses a message that ends with thinking
	}
	return append(appendText(all, said), calls...)
}

// textLength returns the total length of the texts in a layout, in bytes.
func textLength(elements []json.RawMessage) int {
	sum := 0
	for _, element := range elements {
		var p place
		_ = json.Unmarshal(element, &p)
		if p.Type == "text" {
			sum += p.Length
		}
	}
	return sum
}

// withoutText returns a layout in which one text stands for the whole text of the message. This text is in the place of the first text,
// or before the first tool call if that comes earlier.
func withoutText(elements []json.RawMessage) []json.RawMessage {
	var kept []json.RawMessage
	found := false
	for _, element := range elements {
		var p place
		_ = json.Unmarshal(element, &p)
		if !found && (p.Type == "text" || p.Type == "tool_use") {
			kept, found = append(kept, json.RawMessage(`{"type":"text"}`)), true
		}
		if p.Type != "text" {
			kept = append(kept, element)
		}
	}
	return kept
}
