package openai

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/internal/endpoint"
)

// writer adds to requests the values that go-openai cannot write.
type writer struct {
	form      form
	family    string // see [endpoint.Family]
	reasoning Reasoning
}

// rewrite changes a request body that go-openai has encoded, and returns the new body. It adds `fields` to the body, or replaces the
// fields of the same names. It also adds to each message the empty fields that go-openai omits, the reasoning, and the data of the
// provider. `from` has the messages from which go-openai made the messages of the body, in the same order. All other values stay
// unchanged, even the digits of a number.
func (w writer) rewrite(encoded []byte, fields map[string]json.RawMessage, from []llm.Message) ([]byte, error) {
	var whole map[string]json.RawMessage
	if err := json.Unmarshal(encoded, &whole); err != nil {
		return nil, fmt.Errorf("decode the request body that go-openai built: %w", err)
	}
	var messages []map[string]json.RawMessage
	if err := json.Unmarshal(whole["messages"], &messages); err != nil {
		return nil, fmt.Errorf("decode the field \"messages\" of the request body that go-openai built: %w", err)
	}
	thinks, turn := false, 0
	for i, m := range from {
		thinks = thinks || m.Reasoning != ""
		if m.Role == llm.User {
			turn = i
		}
	}
	for i, message := range messages {
		if err := w.complete(message, from[i]); err != nil {
			return nil, err
		}
		if field := w.reasoning.field(from[i], w.form, i, turn, thinks); field != "" {
			message[field] = reasoningText(from[i], w.family)
		}
		if !w.form.has(noOpaque) {
			restore(message, from[i].Opaque, w.family)
		}
	}
	var err error
	if whole["messages"], err = endpoint.Encode(messages); err != nil {
		return nil, err
	}
	maps.Copy(whole, fields)
	return endpoint.Encode(whole)
}

// complete adds the fields of a message that go-openai omits if they are empty: the content, the text of parts, and the IDs, names and
// arguments of tool calls. Endpoints respond with status 400 to messages without these fields. For example, a tool result without text
// would make all later requests of the agent fail. It also adds the data of the provider to the tool calls. `from` is the message from
// which go-openai made `message`.
func (w writer) complete(message map[string]json.RawMessage, from llm.Message) error {
	calls, called := message["tool_calls"]
	switch {
	case message["content"] == nil && called && !w.form.has(textContent):
		message["content"] = json.RawMessage("null")
	case message["content"] == nil:
		message["content"] = json.RawMessage(`""`)
	case message["content"][0] == '[':
		parts, err := editEach(message["content"], func(part map[string]json.RawMessage) error {
			if string(part["type"]) == `"text"` {
				setDefault(part, "text")
			}
			return nil
		})
		if err != nil {
			return err
		}
		message["content"] = parts
	}
	if !called {
		return nil
	}
	signed := slices.ContainsFunc(from.ToolCalls, func(c llm.ToolCall) bool { return c.Opaque.Family == w.family })
	at := -1
	calls, err := editEach(calls, func(call map[string]json.RawMessage) error {
		at++
		switch {
		case at == 0 && w.form.has(noSignature) && (!signed || w.form.has(noOpaque)):
			call["extra_content"] = json.RawMessage(withoutSignature)
		case w.form.has(noOpaque):
		default:
			restore(call, from.ToolCalls[at].Opaque, w.family)
		}
		var function map[string]json.RawMessage
		if err := json.Unmarshal(call["function"], &function); err != nil {
			return err
		}
		setDefault(call, "id")
		setDefault(function, "name")
		setDefault(function, "arguments")
		var err error
		call["function"], err = endpoint.Encode(function)
		return err
	})
	message["tool_calls"] = calls
	return err
}

// withoutSignature is the value that Google requires for a call without a thought signature. A call has none if another model made it.
// Of parallel calls, only the first needs a signature (Google: "Thought signatures").
const withoutSignature = `{"google":{"thought_signature":"skip_thought_signature_validator"}}`

// editEach calls `edit` for each object of a JSON array. The function may modify the object. editEach returns the array with
// the modified objects. It returns an error if an element is not an object, or if `edit` returns an error.
func editEach(array json.RawMessage, edit func(map[string]json.RawMessage) error) (json.RawMessage, error) {
	var objects []map[string]json.RawMessage
	if err := json.Unmarshal(array, &objects); err != nil {
		return nil, err
	}
	for _, object := range objects {
		if err := edit(object); err != nil {
			return nil, err
		}
	}
	return endpoint.Encode(objects)
}

// setDefault adds the member `key` with the value "" to a JSON object. If the object already has this member, setDefault does
// nothing.
func setDefault(object map[string]json.RawMessage, key string) {
	if object[key] == nil {
		object[key] = json.RawMessage(`""`)
	}
}
