package openai

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/reagent-dev/reagent/llm"
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

// opaque returns the fields as an [llm.Opaque] of the given family. It returns the zero value if there are no fields, or if they are
// too large.
func (c carried) opaque(family string) llm.Opaque {
	fields := map[string]json.RawMessage{}
	if present(c.ExtraContent) {
		fields["extra_content"] = c.ExtraContent
	}
	if present(c.ReasoningDetails) {
		fields["reasoning_details"] = c.ReasoningDetails
	}
	if present(c.ThinkingBlocks) {
		fields["thinking_blocks"] = c.ThinkingBlocks
	}
	// The provider needs only the signatures in this field.
	if bytes.Contains(c.ProviderFields, []byte("signature")) {
		fields["provider_specific_fields"] = c.ProviderFields
	}
	return opaque(family, fields)
}

// opaque returns an [llm.Opaque] whose data is an object with the given fields. It returns the zero value if there are no fields, or
// if the data is longer than [maxCarried].
func opaque(family string, fields map[string]json.RawMessage) llm.Opaque {
	data, err := encode(fields)
	if err != nil || len(fields) == 0 || len(data) > maxCarried {
		return llm.Opaque{}
	}
	return llm.Opaque{Family: family, Data: string(data)}
}

// restore adds the data of an [llm.Opaque] to a message or a call of a request. It adds nothing if another family made the data.
func restore(object map[string]json.RawMessage, o llm.Opaque, family string) {
	var fields map[string]json.RawMessage
	if o.Family == family && json.Unmarshal([]byte(o.Data), &fields) == nil {
		maps.Copy(object, fields)
	}
}

// add adds the fields of the next delta of a stream.
func (c *carried) add(next carried) {
	if present(next.ExtraContent) {
		c.ExtraContent = slices.Clone(next.ExtraContent)
	}
	if present(next.ProviderFields) && (c.ProviderFields == nil || bytes.Contains(next.ProviderFields, []byte("signature"))) {
		c.ProviderFields = slices.Clone(next.ProviderFields)
	}
	c.ReasoningDetails = joinParts(c.ReasoningDetails, next.ReasoningDetails)
	c.ThinkingBlocks = joinParts(c.ThinkingBlocks, next.ThinkingBlocks)
}

// size returns the number of bytes of the fields.
func (c carried) size() int {
	return len(c.ExtraContent) + len(c.ReasoningDetails) + len(c.ThinkingBlocks) + len(c.ProviderFields)
}

// part is an element of a list in [carried].
type part = map[string]json.RawMessage

// joinParts appends the elements of `next`, a list in a delta, to `list`, the list so far. If an element continues the last element of
// the list (see [goesOn]), joinParts joins the two, because the text of one element may arrive in many deltas.
func joinParts(list, next json.RawMessage) json.RawMessage {
	var all, more []part
	if !present(next) || json.Unmarshal(next, &more) != nil {
		return list
	}
	_ = json.Unmarshal(list, &all) // the list is empty or was made here
	for _, p := range more {
		if last := len(all) - 1; last >= 0 && goesOn(all[last], p) {
			joinPart(all[last], p)
		} else {
			all = append(all, p)
		}
	}
	joined, err := encode(all)
	if err != nil {
		return list
	}
	return joined
}

// goesOn reports whether the element `p` of a list continues `before`, the element before it. This is true if both have the same type
// and index, and `before` has no signature yet.
func goesOn(before, p part) bool {
	return bytes.Equal(before["type"], p["type"]) && bytes.Equal(before["index"], p["index"]) && !present(before["signature"])
}

// joinPart adds the element `p` of a list to `before`, the element before it. It appends texts and replaces other values.
func joinPart(before, p part) {
	for name, value := range p {
		var had, has string
		switch name {
		case "text", "summary", "thinking", "data":
			if json.Unmarshal(before[name], &had) == nil && json.Unmarshal(value, &has) == nil {
				before[name], _ = encode(had + has) // cannot fail
				continue
			}
		}
		if present(value) || before[name] == nil {
			before[name] = value
		}
	}
}
