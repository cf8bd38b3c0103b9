package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/internal/endpoint"
)

// outputItem is one item of the field `output` of a response: a message, a function call or reasoning. The reply ignores items of
// other kinds.
type outputItem struct {
	kind  string
	id    string
	phase string // of a message: "commentary" or "final_answer"

	said    string // the text of a message
	refusal string // the text with which the model refused
	thought string // the text of reasoning

	callID, name, arguments string // of a function call

	// whole says that reasoning has content, so that it can be sent back.
	whole bool
	raw   json.RawMessage
}

// UnmarshalJSON accepts any JSON value. A value that is not an object becomes an item of an unknown kind.
func (item *outputItem) UnmarshalJSON(encoded []byte) error {
	var wire struct {
		Type      text         `json:"type"`
		Status    text         `json:"status"`
		ID        text         `json:"id"`
		Phase     text         `json:"phase"`
		Content   contentParts `json:"content"`
		Summary   contentParts `json:"summary"`
		Encrypted text         `json:"encrypted_content"`
		CallID    text         `json:"call_id"`
		Name      text         `json:"name"`
		Arguments text         `json:"arguments"`
		Input     text         `json:"input"`
	}
	*item = outputItem{}
	if json.Unmarshal(encoded, &wire) != nil {
		return nil //nolint:nilerr // a value that is not an item has no fields
	}
	*item = outputItem{
		kind: string(wire.Type), id: string(wire.ID), phase: string(wire.Phase),
		callID: string(cmp.Or(wire.CallID, wire.ID)), name: string(wire.Name), arguments: string(wire.Arguments),
		raw: bytes.Clone(encoded),
	}
	switch item.kind {
	case "message":
		item.said = wire.Content.join("", textKinds...)
		item.refusal = wire.Content.join("", "refusal")
	case "function_call":
		if args := strings.TrimSpace(item.arguments); wire.Status == "incomplete" && (args == "" || args == "{}") {
			item.arguments = "{" // the model has not begun to write them, so the call must not run without them
		}
	case "custom_tool_call": // of a tool whose arguments are a text; the agent offers none, so the model is told what the arguments must be
		item.kind, item.arguments = "function_call", string(cmp.Or(wire.Arguments, wire.Input))
	case "reasoning":
		thought := wire.Content.join(betweenTexts, "reasoning_text", "text", "")
		item.thought = cmp.Or(wire.Summary.join(betweenTexts, "summary_text", "text", ""), thought)
		item.whole = wire.Encrypted != "" || thought != ""
	}
	return nil
}

// textKinds are the kinds of the parts with the text of a message.
var textKinds = []string{"output_text", "text", ""}

// speaks reports whether a reply with this item is not empty.
func (item outputItem) speaks() bool {
	return item.said != "" || item.refusal != "" || item.kind == "function_call"
}

// outputItems are the items of a response. The decoder accepts any JSON value. It converts a single item into a list.
type outputItems []outputItem

func (items *outputItems) UnmarshalJSON(encoded []byte) error {
	if *items = nil; encoded[0] != '[' && encoded[0] != '{' {
		return nil
	}
	return decodeList(encoded, (*[]outputItem)(items))
}

// contentPart is a part of the content of an item, or of the summary of reasoning.
type contentPart struct {
	kind, text string
}

// contentParts are the parts of a content or a summary. The decoder accepts any JSON value. It converts a string into one part without
// a kind.
type contentParts []contentPart

func (parts *contentParts) UnmarshalJSON(encoded []byte) error {
	*parts = nil
	var list []json.RawMessage
	if encoded[0] != '[' {
		list = []json.RawMessage{encoded}
	} else if err := json.Unmarshal(encoded, &list); err != nil {
		return err
	}
	for _, raw := range list {
		var part struct {
			Type    text `json:"type"`
			Text    text `json:"text"`
			Refusal text `json:"refusal"`
		}
		switch {
		case raw[0] == '"':
			_ = part.Text.UnmarshalJSON(raw) // a valid JSON string
		case json.Unmarshal(raw, &part) != nil:
			continue
		}
		*parts = append(*parts, contentPart{string(part.Type), string(cmp.Or(part.Text, part.Refusal))})
	}
	return nil
}

// join returns the texts of the parts of the given kinds, separated by `between`.
func (parts contentParts) join(between string, kinds ...string) string {
	var texts []string
	for _, part := range parts {
		if part.text != "" && slices.Contains(kinds, part.kind) {
			texts = append(texts, part.text)
		}
	}
	return strings.Join(texts, between)
}

// responseUsage has the fields of chat completions, too, because some gateways send these.
type responseUsage struct {
	InputTokens      count `json:"input_tokens"`
	OutputTokens     count `json:"output_tokens"`
	PromptTokens     count `json:"prompt_tokens"`
	CompletionTokens count `json:"completion_tokens"`
	InputDetails     endpoint.Optional[struct {
		CachedTokens     count `json:"cached_tokens"`
		CacheWriteTokens count `json:"cache_write_tokens"`
	}] `json:"input_tokens_details"`
	OutputDetails endpoint.Optional[struct {
		ReasoningTokens count `json:"reasoning_tokens"`
	}] `json:"output_tokens_details"`
}

// responseBody is a response of the Responses API. The types of its fields accept any JSON value.
type responseBody struct {
	Object     text                             `json:"object"`
	Model      text                             `json:"model"`
	Status     text                             `json:"status"`
	Output     outputItems                      `json:"output"`
	OutputText text                             `json:"output_text"` // beside the items, or in their place
	Usage      endpoint.Optional[responseUsage] `json:"usage"`
	Incomplete endpoint.Optional[struct {
		Reason text `json:"reason"`
	}] `json:"incomplete_details"`
	Error json.RawMessage `json:"error"`

	// missing says that the body has no list of items.
	missing bool
	raw     json.RawMessage
}

// UnmarshalJSON accepts any JSON object.
func (b *responseBody) UnmarshalJSON(encoded []byte) error {
	type plain responseBody
	var p plain
	if err := json.Unmarshal(encoded, &p); err != nil {
		return err
	}
	*b = responseBody(p)
	if b.OutputText != "" && !slices.ContainsFunc(b.Output, outputItem.speaks) {
		b.Output = append(b.Output, outputItem{kind: "message", said: string(b.OutputText)})
	}
	b.missing = b.Output == nil
	b.raw = bytes.Clone(encoded)
	return nil
}

// failure returns the error in a response that failed, and nil for any other response. `a` has the status and the headers.
func (b responseBody) failure(a endpoint.Response) error {
	if present(b.Error) {
		a.Body, a.Failed = b.raw, true
		return a.Failure()
	}
	if b.Status != "failed" && b.Status != "cancelled" {
		return nil
	}
	return &llm.Error{Class: llm.ServerError, Status: a.Status, Model: string(b.Model), FinishReason: string(b.Status),
		Message: "the endpoint ended the response without an error message (status " + string(b.Status) + ")"}
}
