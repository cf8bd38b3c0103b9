package standin

import (
	"cmp"
	"encoding/json"

	"github.com/reagent-dev/reagent/llm"
)

// messageID is the ID of each reply.
const messageID = "msg_test"

type messageBody struct {
	ID           string         `json:"id"`
	Type         string         `json:"type"`
	Role         string         `json:"role"`
	Model        string         `json:"model"`
	Content      []messageBlock `json:"content"`
	StopReason   *string        `json:"stop_reason"`
	StopSequence *string        `json:"stop_sequence"`
	Usage        messageUsage   `json:"usage"`
}

type messageBlock struct {
	Type      string          `json:"type"`
	Text      *string         `json:"text,omitempty"`
	Thinking  *string         `json:"thinking,omitempty"`
	Signature *string         `json:"signature,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
}

type messageUsage struct {
	InputTokens   int                 `json:"input_tokens"`
	CacheCreation int                 `json:"cache_creation_input_tokens"`
	CacheRead     int                 `json:"cache_read_input_tokens"`
	OutputTokens  int                 `json:"output_tokens"`
	OutputDetails messageUsageDetails `json:"output_tokens_details"`
}

type messageUsageDetails struct {
	ThinkingTokens int `json:"thinking_tokens"`
}

// messageOf converts a reply into the body of a response. `model` is the model's name in the body if the reply does not name its
// model. Arguments that are not JSON become a JSON string, because a body cannot contain them in another form.
func messageOf(model string, reply llm.Reply) messageBody {
	reason, u := stopReason(reply), reply.Usage
	b := messageBody{
		ID: messageID, Type: "message", Role: "assistant", Model: cmp.Or(reply.Model, model), StopReason: &reason,
		Content: []messageBlock{},
		Usage: messageUsage{
			InputTokens:   max(u.InputTokens-u.CachedTokens-u.CacheWriteTokens, 0),
			CacheCreation: u.CacheWriteTokens,
			CacheRead:     u.CachedTokens,
			OutputTokens:  u.OutputTokens,
			OutputDetails: messageUsageDetails{u.ReasoningTokens},
		},
	}
	m := reply.Message
	if m.Reasoning != "" {
		signed := blockSignature(m.Reasoning, len(b.Content))
		b.Content = append(b.Content, messageBlock{Type: "thinking", Thinking: &m.Reasoning, Signature: &signed})
	}
	if m.Content != "" {
		b.Content = append(b.Content, messageBlock{Type: "text", Text: &m.Content})
	}
	for _, call := range m.ToolCalls {
		input := json.RawMessage(cmp.Or(compactText(call.Arguments), "{}"))
		if !json.Valid(input) {
			input = compact(call.Arguments)
		}
		b.Content = append(b.Content, messageBlock{Type: "tool_use", ID: call.ID, Name: call.Name, Input: input})
	}
	return b
}

// sign gives the thinking of the message other signatures; none if `signature` returns "".
func (b *messageBody) sign(signature func(thinking string) string) {
	for i := range b.Content {
		if own := &b.Content[i]; own.Type == "thinking" {
			own.Signature = nil
			if signed := signature(*own.Thinking); signed != "" {
				own.Signature = &signed
			}
		}
	}
}

func (a messages) events(model string, reply llm.Reply, _ bool, cut cutter) []event {
	whole := messageOf(model, reply)
	if a.provider != nil {
		whole.sign(a.provider.compatible.signStream)
	}
	var all []event
	add := func(name string, fields map[string]any) {
		fields["type"] = name
		all = append(all, event{name, compact(fields)})
	}
	start := whole
	start.Content, start.StopReason = []messageBlock{}, nil
	start.Usage.OutputTokens, start.Usage.OutputDetails = min(1, whole.Usage.OutputTokens), messageUsageDetails{}
	add("message_start", map[string]any{"message": start})
	add("ping", map[string]any{})
	for i, b := range whole.Content {
		first, deltas := b.deltas(cut)
		add("content_block_start", map[string]any{"index": i, "content_block": first})
		for _, d := range deltas {
			add("content_block_delta", map[string]any{"index": i, "delta": d})
		}
		add("content_block_stop", map[string]any{"index": i})
	}
	add("message_delta", map[string]any{
		"delta": map[string]any{"stop_reason": whole.StopReason, "stop_sequence": nil},
		"usage": whole.Usage,
	})
	add("message_stop", map[string]any{})
	return all
}

// deltas returns the block as it is in the event content_block_start (`first`), and its deltas.
func (b messageBlock) deltas(cut cutter) (first messageBlock, deltas []any) {
	first = b
	empty := ""
	switch b.Type {
	case "thinking":
		first.Thinking, first.Signature = &empty, &empty
		for _, piece := range cut.pieces(*b.Thinking) {
			deltas = append(deltas, map[string]string{"type": "thinking_delta", "thinking": piece})
		}
		if b.Signature != nil {
			deltas = append(deltas, map[string]string{"type": "signature_delta", "signature": *b.Signature})
		}
	case "text":
		first.Text = &empty
		for _, piece := range cut.pieces(*b.Text) {
			deltas = append(deltas, map[string]string{"type": "text_delta", "text": piece})
		}
	case "tool_use":
		first.Input = json.RawMessage("{}")
		input := string(b.Input)
		var text string
		if json.Unmarshal(b.Input, &text) == nil {
			input = text // arguments that are not JSON
		}
		deltas = append(deltas, map[string]string{"type": "input_json_delta", "partial_json": ""})
		if input == "{}" {
			return first, deltas
		}
		for _, piece := range cut.pieces(input) {
			deltas = append(deltas, map[string]string{"type": "input_json_delta", "partial_json": piece})
		}
	}
	return first, deltas
}
