package standin

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/reagent-dev/reagent/llm"
)

type messagesRequest struct {
	Model       string          `json:"model"`
	MaxTokens   *int            `json:"max_tokens"`
	System      textOrBlocks    `json:"system"`
	Messages    []messagesTurn  `json:"messages"`
	Tools       []messagesTool  `json:"tools"`
	ToolChoice  *messagesChoice `json:"tool_choice"`
	Stream      bool            `json:"stream"`
	Temperature *float64        `json:"temperature"`
	TopP        *float64        `json:"top_p"`
	Thinking    *struct {
		Type         string `json:"type"`
		BudgetTokens *int   `json:"budget_tokens"`
		Display      string `json:"display"`
	} `json:"thinking"`
	OutputConfig struct {
		Effort string `json:"effort"`
		Format *struct {
			Type   string          `json:"type"`
			Schema json.RawMessage `json:"schema"`
		} `json:"format"`
	} `json:"output_config"`

	// extra has all other fields of the body.
	extra map[string]json.RawMessage
}

// messagesFields has the JSON names of the fields of [messagesRequest].
var messagesFields = []string{
	"model", "max_tokens", "system", "messages", "tools", "tool_choice", "stream", "temperature", "top_p", "thinking", "output_config",
}

type messagesTurn struct {
	Role    string       `json:"role"`
	Content textOrBlocks `json:"content"`
}

type messagesTool struct {
	Name         string          `json:"name"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"input_schema"`
	CacheControl json.RawMessage `json:"cache_control"`
}

type messagesChoice struct {
	Type     string `json:"type"`
	Name     string `json:"name"`
	Disabled *bool  `json:"disable_parallel_tool_use"`
}

// textOrBlocks is a content: a string or a list of blocks.
type textOrBlocks []messagesBlock

// UnmarshalJSON converts a string into one text block.
func (c *textOrBlocks) UnmarshalJSON(encoded []byte) error {
	var text string
	if json.Unmarshal(encoded, &text) == nil {
		*c = textOrBlocks{{Type: "text", Text: &text}}
		return nil
	}
	return json.Unmarshal(encoded, (*[]messagesBlock)(c))
}

type messagesBlock struct {
	Type      string          `json:"type"`
	Text      *string         `json:"text"`
	Thinking  *string         `json:"thinking"`
	Signature *string         `json:"signature"`
	Data      *string         `json:"data"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   textOrBlocks    `json:"content"`
	Source    struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
		URL       string `json:"url"`
	} `json:"source"`
	CacheControl json.RawMessage `json:"cache_control"`
}

// readMessages decodes the body of a request. If the body cannot be decoded, readMessages returns a refusal, and the request has only
// the fields that could be decoded.
func readMessages(body []byte) (*messagesRequest, *refusal) {
	var r messagesRequest
	if err := json.Unmarshal(body, &r); err != nil {
		return &r, invalid("", "The request body is not valid JSON: %v", err)
	}
	if err := json.Unmarshal(body, &r.extra); err != nil {
		return &r, invalid("", "The request body is not a JSON object: %v", err)
	}
	for _, name := range messagesFields {
		delete(r.extra, name)
	}
	return &r, nil
}

// request converts the body into an [llm.Request]. A user turn becomes one message for each tool result at its beginning, and one
// message for the other blocks.
func (r *messagesRequest) request() llm.Request {
	req := llm.Request{
		Candidates: []llm.Candidate{{Name: r.Model, Model: r.Model}},
		Params:     llm.Params{Temperature: r.Temperature, TopP: r.TopP, ReasoningEffort: r.OutputConfig.Effort},
	}
	if r.MaxTokens != nil {
		req.Params.MaxOutputTokens = *r.MaxTokens
	}
	if r.OutputConfig.Format != nil {
		req.Params.OutputSchema = r.OutputConfig.Format.Schema
	}
	if c := r.ToolChoice; c != nil {
		req.Params.ToolChoice = map[string]string{"any": "required", "tool": c.Name}[c.Type]
		if req.Params.ToolChoice == "" {
			req.Params.ToolChoice = c.Type
		}
		if c.Disabled != nil {
			parallel := !*c.Disabled
			req.Params.ParallelToolCalls = &parallel
		}
	}
	if len(r.extra) > 0 {
		req.Params.Extra = r.extra
	}
	for _, t := range r.Tools {
		req.Tools = append(req.Tools, llm.ToolSpec{Name: t.Name, Description: t.Description, Parameters: t.InputSchema})
	}
	if len(r.System) > 0 {
		req.Messages = append(req.Messages, r.System.message(llm.System))
	}
	for _, t := range r.Messages {
		rest := slices.Clone(t.Content)
		for len(rest) > 0 && rest[0].Type == "tool_result" {
			m := rest[0].Content.message(llm.Tool)
			m.ToolCallID = rest[0].ToolUseID
			req.Messages, rest = append(req.Messages, m), rest[1:]
		}
		if len(rest) > 0 {
			req.Messages = append(req.Messages, rest.message(llm.Role(t.Role)))
		}
	}
	return req
}

// message converts a content into a message. If the content has several texts or an image, they become the parts of the message.
// Thinking blocks are omitted.
func (c textOrBlocks) message(role llm.Role) llm.Message {
	m := llm.Message{Role: role}
	var texts []string
	images := 0
	for _, b := range c {
		switch b.Type {
		case "text":
			if b.Text != nil {
				texts = append(texts, *b.Text)
				m.Parts = append(m.Parts, llm.Part{Type: "text", Text: *b.Text})
			}
		case "image":
			images++
			url := b.Source.URL
			if b.Source.Type == "base64" {
				url = "data:" + b.Source.MediaType + ";base64," + b.Source.Data
			}
			m.Parts = append(m.Parts, llm.Part{Type: "image", URL: url})
		case "tool_use":
			m.ToolCalls = append(m.ToolCalls, llm.ToolCall{ID: b.ID, Name: b.Name, Arguments: string(bytes.TrimSpace(b.Input))})
		}
	}
	if images == 0 && len(texts) <= 1 {
		m.Parts = nil
		for _, text := range texts {
			m.Content = text
		}
	}
	return m
}
