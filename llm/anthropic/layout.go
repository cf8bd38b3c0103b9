package anthropic

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
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
	// Signature is that of a thinking block.
	Signature text `json:"signature,omitempty"`

	raw json.RawMessage // the element as it was stored
}

// UnmarshalJSON accepts any JSON value. An element that is not an object has no type, and stands for nothing.
func (p *place) UnmarshalJSON(encoded []byte) error {
	type plain place
	_ = json.Unmarshal(encoded, (*plain)(p))
	p.raw = bytes.Clone(encoded)
	return nil
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

// assistantBlocks returns the content of an assistant message. `calls` are the blocks of its tool calls. Which raw blocks of earlier replies
// are sent, depends on the form (see [block.raw]):
//   - Usually only those that `family` made.
//   - With [form.thoughtful] also those that the same endpoint made after another beginning, but no redacted thinking, which only Claude
//     can read.
//   - With [form.unsigned] none, and with [form.signed] no thinking without a signature.
func assistantBlocks(m llm.Message, calls []block, family string, f form) []block {
	said := m.Content
	var places []place
	if !f.unsigned && (m.Opaque.Family == family || f.thoughtful && sameEndpoint(m.Opaque.Family, family)) {
		_ = json.Unmarshal([]byte(m.Opaque.Data), &places) // if there is no list, the text comes first, and then the calls
	}
	length := 0
	for _, p := range places {
		if p.Type == "text" {
			length += p.Length
		}
	}
	if length != len(said) {
		places = withoutText(places) // the text was changed after the reply: all of it goes to the place of the first text
	}
	var all []block
	for _, p := range places {
		switch {
		case p.Type == "text":
			length := len(said)
			if p.Length > 0 && p.Length < length {
				length = p.Length
			}
			all, said = appendText(all, said[:length]), said[length:]
		case p.Type == "tool_use" && len(calls) > 0:
			all, calls = append(all, calls[0]), calls[1:]
		case f.signed && p.Type == "thinking" && p.Signature == "", f.thoughtful && p.Type == "redacted_thinking":
		case p.Type != "tool_use" && p.Type != "":
			all = append(all, block{raw: p.raw, Type: p.Type})
		}
	}
	for len(all) > 0 && all[len(all)-1].thinks() && strings.TrimSpace(said) == "" && len(calls) == 0 {
		all = all[:len(all)-1] // the API refuses a message that ends with thinking
	}
	return append(appendText(all, said), calls...)
}

// noThought is the thinking of a message that has none, because another model made it, or because a compaction or another client has lost
// it. Kimi refuses an empty text.
const noThought = " "

// thoughts returns the content of an assistant message with the thinking that the form demands. With [form.thoughtful], a message with
// calls has a thinking block, and with [form.thorough] each message that has content. If there is none, the reasoning of the message
// becomes the first block, without a signature.
func thoughts(m llm.Message, content []block, f form) []block {
	demanded := f.thoughtful && (f.thorough || len(m.ToolCalls) > 0)
	if !demanded || len(content) == 0 || slices.ContainsFunc(content, block.thinks) {
		return content
	}
	raw, _ := endpoint.Encode(signedBlock{Type: "thinking", Thinking: cmp.Or(m.Reasoning, noThought)}) // strings have a JSON form
	return slices.Insert(content, 0, block{raw: raw, Type: "thinking"})
}

// withoutText returns a layout in which one text stands for the whole text of the message. This text is in the place of the first text,
// or before the first tool call if that comes earlier.
func withoutText(places []place) []place {
	first := slices.IndexFunc(places, func(p place) bool { return p.Type == "text" || p.Type == "tool_use" })
	if first < 0 {
		return places
	}
	places = slices.Insert(places, first, place{Type: "text"})
	rest := slices.DeleteFunc(places[first+1:], func(p place) bool { return p.Type == "text" })
	return places[:first+1+len(rest)]
}
