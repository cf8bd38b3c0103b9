package telemetry

import (
	"encoding/json"

	"github.com/reagent-dev/reagent/llm"
)

// message is a message in the form of the conventions: https://github.com/open-telemetry/semantic-conventions-genai/tree/main/docs/gen-ai,
// gen-ai-input-messages.json and gen-ai-output-messages.json.
type message struct {
	Role         llm.Role `json:"role"`
	Parts        []part   `json:"parts"`
	FinishReason string   `json:"finish_reason,omitempty"` // of an answer only
}

type part struct {
	Type      string          `json:"type"`
	Content   string          `json:"content,omitempty"`
	Modality  string          `json:"modality,omitempty"`
	URI       string          `json:"uri,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Response  string          `json:"response,omitempty"`
}

func text(content string) part { return part{Type: "text", Content: content} }

// instructions returns the system messages as a JSON text.
func instructions(all []llm.Message) string {
	parts := []part{}
	for _, m := range all {
		if m.Role == llm.System {
			parts = append(parts, text(m.Content))
		}
	}
	return encode(parts)
}

// conversation returns the other messages as a JSON text.
func conversation(all []llm.Message) string {
	messages := []message{}
	for _, m := range all {
		if m.Role != llm.System {
			messages = append(messages, message{Role: m.Role, Parts: parts(m)})
		}
	}
	return encode(messages)
}

// answer returns a reply as a JSON text.
func answer(r llm.Reply) string {
	return encode([]message{{Role: llm.Assistant, Parts: parts(r.Message), FinishReason: r.FinishReason}})
}

func parts(m llm.Message) []part {
	all := []part{}
	switch {
	case m.Role == llm.Tool:
		return []part{{Type: "tool_call_response", ID: m.ToolCallID, Response: m.Content}}
	case m.Content != "":
		all = append(all, text(m.Content))
	}
	for _, p := range m.Parts {
		if p.Type == "image" {
			all = append(all, part{Type: "uri", Modality: "image", URI: p.URL})
		} else {
			all = append(all, text(p.Text))
		}
	}
	for _, c := range m.ToolCalls {
		arguments := json.RawMessage(c.Arguments)
		if !json.Valid(arguments) {
			arguments, _ = json.Marshal(c.Arguments) // cannot fail for a string
		}
		all = append(all, part{Type: "tool_call", ID: c.ID, Name: c.Name, Arguments: arguments})
	}
	return all
}

func encode(v any) string {
	data, _ := json.Marshal(v) // cannot fail: the arguments are valid JSON
	return string(data)
}
