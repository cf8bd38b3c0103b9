package openai

import (
	"encoding/json"
	"slices"

	openai "github.com/sashabaranov/go-openai"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/internal/endpoint"
)

// writer writes the messages of a chat completions request. go-openai's types for messages are not used, because they omit empty fields:
// the content, the text of parts, and the IDs, names and arguments of tool calls. Endpoints respond with status 400 to messages without
// these fields. For example, a tool result without text would make all later requests of the agent fail.
type writer struct {
	form      form
	family    string // see [endpoint.Family]
	reasoning Reasoning
}

// object is a JSON object of a request. Its members are encoded in the order of their names.
type object map[string]any

// add adds fields that are JSON already. They replace fields with the same names.
func (o object) add(fields map[string]json.RawMessage) {
	for name, value := range fields {
		o[name] = value
	}
}

// chatRequest returns the body of a chat completions request. `fields` has all fields except the model and the messages.
func (w writer) chatRequest(model string, conversation []llm.Message, fields map[string]json.RawMessage) ([]byte, error) {
	body := object{"model": model, "messages": w.messages(conversation)}
	body.add(fields)
	return endpoint.Encode(body)
}

func (w writer) messages(conversation []llm.Message) []object {
	thinks, turn := false, 0
	for i, m := range conversation {
		thinks = thinks || m.Reasoning != ""
		if m.Role == llm.User {
			turn = i
		}
	}
	wire := make([]object, 0, len(conversation))
	for i, m := range conversation {
		message := object{"role": m.Role, "content": w.content(m)}
		if len(m.ToolCalls) > 0 {
			message["tool_calls"] = w.calls(m.ToolCalls)
		}
		if m.ToolCallID != "" {
			message["tool_call_id"] = m.ToolCallID
		}
		if field := w.reasoning.field(m, w.form, i, turn, thinks); field != "" {
			message[field] = reasoningText(m, w.family)
		}
		if !w.form.has(noOpaque) {
			restore(message, m.Opaque, w.family)
		}
		wire = append(wire, message)
	}
	return wire
}

// content returns the content of a message in one of three forms:
//   - If the message has parts, a list, with the text of the message as the first part.
//   - If the message has calls and no text, nil, unless the form has [textContent].
//   - In all other cases, the text.
func (w writer) content(m llm.Message) any {
	switch {
	case len(m.Parts) > 0:
	case m.Content == "" && len(m.ToolCalls) > 0 && !w.form.has(textContent):
		return nil
	default:
		return m.Content
	}
	var parts []object
	if m.Content != "" {
		parts = append(parts, object{"type": "text", "text": m.Content})
	}
	for _, part := range m.Parts {
		if part.Type == "image" {
			parts = append(parts, object{"type": openai.ChatMessagePartTypeImageURL, "image_url": openai.ChatMessageImageURL{URL: part.URL}})
			continue
		}
		parts = append(parts, object{"type": part.Type, "text": part.Text})
	}
	return parts
}

// calls returns the tool calls of a message, with the data of the provider. If the form has [noSignature] and no call has data to send,
// the first call gets [withoutSignature].
func (w writer) calls(calls []llm.ToolCall) []object {
	signed := slices.ContainsFunc(calls, func(c llm.ToolCall) bool { return c.Opaque.Family == w.family })
	wire := make([]object, 0, len(calls))
	for i, c := range calls {
		call := object{"id": c.ID, "type": openai.ToolTypeFunction, "function": object{"name": c.Name, "arguments": c.Arguments}}
		switch {
		case i == 0 && w.form.has(noSignature) && (!signed || w.form.has(noOpaque)):
			call["extra_content"] = json.RawMessage(withoutSignature)
		case !w.form.has(noOpaque):
			restore(call, c.Opaque, w.family)
		}
		wire = append(wire, call)
	}
	return wire
}

// withoutSignature is the value that Google requires for a call without a thought signature. A call has none if another model made it.
// Of parallel calls, only the first needs a signature (Google: "Thought signatures").
const withoutSignature = `{"google":{"thought_signature":"skip_thought_signature_validator"}}`
