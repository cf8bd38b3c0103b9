package openai

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/internal/endpoint"
)

// carried has the fields of a message or a tool call that a provider needs back in later requests. The client does not interpret
// them. They become an [llm.Opaque], whose data is a JSON object with these fields.
type carried struct {
	// ExtraContent has the thought signature of Gemini.
	ExtraContent json.RawMessage `json:"extra_content,omitempty"`
	// ReasoningDetails has the reasoning of all models behind OpenRouter. It is a list.
	ReasoningDetails json.RawMessage `json:"reasoning_details,omitempty"`
	// ThinkingBlocks has the reasoning of Claude behind LiteLLM. It is a list.
	ThinkingBlocks json.RawMessage `json:"thinking_blocks,omitempty"`
	// ProviderFields has the thought signature of Gemini behind LiteLLM, among other things.
	ProviderFields json.RawMessage `json:"provider_specific_fields,omitempty"`
}

// maxCarried limits the data of one message or call, in bytes. Larger data is not kept.
const maxCarried = 512 << 10

// opaque returns the fields as an [llm.Opaque] of the given family. It returns the zero value if there are no fields, or if they are too
// large or not valid JSON.
func (c carried) opaque(family string) llm.Opaque {
	fields := map[string]json.RawMessage{
		"extra_content": c.ExtraContent, "reasoning_details": c.ReasoningDetails, "thinking_blocks": c.ThinkingBlocks,
	}
	// Without a signature, the provider does not need this field back, so it is left out.
	if bytes.Contains(c.ProviderFields, []byte("signature")) {
		fields["provider_specific_fields"] = c.ProviderFields
	}
	maps.DeleteFunc(fields, func(_ string, value json.RawMessage) bool { return !present(value) })
	return opaque(family, fields)
}

// opaque returns an [llm.Opaque] whose data is an object with the given fields. It returns the zero value if there are no fields, if a
// field is not valid JSON, or if the data is longer than [maxCarried].
func opaque(family string, fields map[string]json.RawMessage) llm.Opaque {
	data, err := endpoint.Encode(fields)
	if err != nil || len(fields) == 0 || len(data) > maxCarried {
		return llm.Opaque{}
	}
	return llm.Opaque{Family: family, Data: string(data)}
}

// restore adds the data of an [llm.Opaque] to a message or a call of a request. It adds nothing if another family made the data, or if the
// data is not a JSON object.
func restore(to object, o llm.Opaque, family string) {
	var fields map[string]json.RawMessage
	if o.Family == family && json.Unmarshal([]byte(o.Data), &fields) == nil {
		to.add(fields)
	}
}

// carrying collects the fields of [carried] from the deltas of a stream. The zero value is ready for use.
type carrying struct {
	whole             carried
	details, thinking partList
}

func (c *carrying) add(next carried) {
	if present(next.ExtraContent) {
		c.whole.ExtraContent = slices.Clone(next.ExtraContent)
	}
	if present(next.ProviderFields) && (c.whole.ProviderFields == nil || bytes.Contains(next.ProviderFields, []byte("signature"))) {
		c.whole.ProviderFields = slices.Clone(next.ProviderFields)
	}
	c.details.add(next.ReasoningDetails)
	c.thinking.add(next.ThinkingBlocks)
}

func (c *carrying) carried() carried {
	c.whole.ReasoningDetails, c.whole.ThinkingBlocks = c.details.list(), c.thinking.list()
	return c.whole
}

func (c carried) size() int {
	return len(c.ExtraContent) + len(c.ReasoningDetails) + len(c.ThinkingBlocks) + len(c.ProviderFields)
}

// part is an element of a list in [carried].
type part = map[string]json.RawMessage

// partList collects the elements of a list. The text of one element may arrive in many deltas.
type partList struct {
	all   []part
	texts map[string]*strings.Builder // the texts of the last element so far, by member
	size  int                         // of what was joined, in bytes; more than [maxCarried] means that the list was dropped
}

// add adds the elements of a list in a delta. An element that goes on with the last one is joined to it. A list that gets too large is
// dropped as a whole, because the provider would refuse a part of it.
func (p *partList) add(list json.RawMessage) {
	var more []part
	if p.size > maxCarried || !present(list) || json.Unmarshal(list, &more) != nil {
		return
	}
	for _, next := range more {
		if last := len(p.all) - 1; last < 0 || !goesOn(p.all[last], next) {
			p.flush()
			p.all = append(p.all, part{})
			p.size += len("{},")
		}
		if p.join(next); p.size > maxCarried {
			p.all, p.texts = nil, nil
			return
		}
	}
}

// join adds an element of a list to the last element. It appends the texts and replaces other values.
func (p *partList) join(next part) {
	last := p.all[len(p.all)-1]
	for name, value := range next {
		var text string
		switch name {
		case "text", "summary", "thinking":
			if json.Unmarshal(value, &text) == nil && string(value) != "null" {
				if p.texts == nil {
					p.texts = map[string]*strings.Builder{}
				}
				if p.texts[name] == nil {
					p.texts[name] = &strings.Builder{}
				}
				p.texts[name].WriteString(text)
				p.size += len(text)
				continue
			}
		}
		if present(value) || last[name] == nil {
			p.size += len(value) - len(last[name])
			last[name] = slices.Clone(value)
		}
	}
}

// flush writes the texts into the last element. It must run before another element is appended, and at the end.
func (p *partList) flush() {
	for name, text := range p.texts {
		p.all[len(p.all)-1][name], _ = endpoint.Encode(text.String()) // cannot fail
	}
	p.texts = nil
}

func (p *partList) list() json.RawMessage {
	p.flush()
	if len(p.all) == 0 {
		return nil
	}
	encoded, _ := endpoint.Encode(p.all) // cannot fail: the elements are JSON
	return encoded
}

// goesOn reports whether an element of a list goes on with the element before it. Both must have the same type, and may not differ in an
// index or an ID that both have. The element before it must have no signature yet. Encrypted data is always one element.
func goesOn(before, next part) bool {
	for _, name := range []string{"type", "index", "id"} {
		if present(before[name]) && present(next[name]) && !bytes.Equal(before[name], next[name]) {
			return false
		}
	}
	return bytes.Equal(before["type"], next["type"]) && !present(before["signature"]) && before["data"] == nil && next["data"] == nil
}
