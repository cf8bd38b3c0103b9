package openai

import (
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/internal/endpoint"
)

// functionCall is the item of a tool call. go-openai's type omits empty arguments.
type functionCall struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// responsesInput converts the conversation into the instructions and the items of the field `input`. The first message becomes the
// instructions if it is a system message with text only. `family` names the endpoints whose data is sent back: see [llm.Opaque]. It is
// empty if no data is sent back.
//
// Items have no IDs, except items of reasoning. With `store` false, the endpoint has not stored the items, and it refuses the ID of an
// item that it cannot find. An item of reasoning contains its content, so the endpoint accepts its ID.
func responsesInput(conversation []llm.Message, family string) (instructions string, items []any) {
	if len(conversation) > 0 && conversation[0].Role == llm.System && len(conversation[0].Parts) == 0 {
		instructions, conversation = conversation[0].Content, conversation[1:]
	}
	items = []any{}
	var ids endpoint.CallIDs
	for _, m := range conversation {
		switch m.Role {
		case llm.Assistant:
			items = append(items, assistantItems(m, family, &ids)...)
		case llm.Tool:
			items = append(items, openai.ResponseFunctionCallOutput{
				Type: "function_call_output", CallID: ids.Result(m.ToolCallID), Output: inputContent(m),
			})
		default:
			items = append(items, openai.ResponseInputMessage{Type: "message", Role: string(m.Role), Content: inputContent(m)})
		}
	}
	return instructions, items
}

// inputContent returns the content of a user message or a tool message: a string, or a list if the message has parts.
func inputContent(m llm.Message) any {
	if len(m.Parts) == 0 {
		return m.Content
	}
	var parts []any
	if m.Content != "" {
		parts = append(parts, openai.ResponseInputText{Type: "input_text", Text: m.Content})
	}
	for _, part := range m.Parts {
		if part.Type == "image" {
			parts = append(parts, openai.ResponseInputImage{Type: "input_image", ImageURL: part.URL})
		} else {
			parts = append(parts, openai.ResponseInputText{Type: "input_" + part.Type, Text: part.Text})
		}
	}
	return parts
}

// assistantItems returns the items of an assistant message. If the message has opaque data of the given family, the items have the
// order of the reply, and the reasoning is among them. The text and the calls are always those of the message, which may have been
// corrected. Reasoning at the end is omitted, because the endpoint refuses reasoning without an item after it.
func assistantItems(m llm.Message, family string, ids *endpoint.CallIDs) []any {
	text := []string{m.Content}
	for _, part := range m.Parts {
		text = append(text, part.Text) // an assistant message cannot have images
	}
	content := strings.Join(text, "")
	var items []any
	calls, last := m.ToolCalls, -1 // last is the position of the last item that is not reasoning
	add := func(item any) { items, last = append(items, item), len(items) }
	call := func() {
		add(functionCall{"function_call", ids.Call(calls[0].ID), calls[0].Name, calls[0].Arguments})
		calls = calls[1:]
	}
	marks := marksOf(m.Opaque, family)
	texts := divide(content, marks)
	for i, mark := range marks {
		switch {
		case mark.Type == "reasoning":
			items = append(items, mark.raw)
		case mark.Type == "message" && (texts[i] != "" || content == "" && len(m.ToolCalls) == 0):
			add(outputMessage(texts[i], mark.Phase))
		case mark.Type == "function_call" && len(calls) > 0:
			call()
		}
	}
	for len(calls) > 0 {
		call()
	}
	return items[:last+1]
}

// outputMessage returns the item of one text of an assistant message. `phase` is [mark.Phase].
func outputMessage(text, phase string) openai.ResponseInputMessage {
	return openai.ResponseInputMessage{
		Type: "message", Role: "assistant", Phase: phase,
		Content: []openai.ResponseInputText{{Type: "output_text", Text: text}},
	}
}
