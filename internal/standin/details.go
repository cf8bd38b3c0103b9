package standin

import (
	"encoding/json"
	"maps"
)

// detailsName is the member of a message that has the model's reasoning as a list. OpenRouter and MiniMax have this member.
const detailsName = "reasoning_details"

// details divides the additions of a message into the list `reasoning_details` and the rest.
func details(more map[string]json.RawMessage) (list []map[string]json.RawMessage, rest map[string]json.RawMessage) {
	if json.Unmarshal(more[detailsName], &list) != nil {
		return nil, more
	}
	rest = maps.Clone(more)
	delete(rest, detailsName)
	return list, rest
}

// fragments cuts a list `reasoning_details` into the deltas of a stream. Each delta has one fragment of one entry. The fragments
// of an entry have the same type and index. The text or summary of the entry is cut into parts. The signature comes in a last
// fragment without text. Source: the issues agno-agi/agno#8794 and OpenRouterTeam/ai-sdk-provider#519, which quote streams.
func (c cutter) fragments(list []map[string]json.RawMessage) []delta {
	var all []delta
	add := func(entry map[string]json.RawMessage, name string, value json.RawMessage) {
		fragment := maps.Clone(entry)
		fragment[name] = value
		all = append(all, delta{more: map[string]json.RawMessage{detailsName: compact([]any{fragment})}})
	}
	for _, entry := range list {
		name := "text"
		if entry["summary"] != nil {
			name = "summary"
		}
		var text string
		if json.Unmarshal(entry[name], &text) != nil || text == "" {
			add(entry, "type", entry["type"])
			continue
		}
		common, signature := maps.Clone(entry), entry["signature"]
		delete(common, name)
		delete(common, "signature")
		for _, piece := range c.pieces(text) {
			add(common, name, compact(piece))
		}
		if signature != nil {
			add(common, "signature", signature)
		}
	}
	return all
}

// canonical returns a list `reasoning_details` in a form that can be compared; "" if it is not a list. The members of the entries
// are sorted. The member `index` is removed, because OpenRouter sends other indexes in a stream.
func canonical(list json.RawMessage) string {
	var all []map[string]any
	if json.Unmarshal(list, &all) != nil {
		return ""
	}
	for _, entry := range all {
		delete(entry, "index")
	}
	return encoded(all)
}
