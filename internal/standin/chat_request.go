package standin

import (
	"cmp"
	"encoding/json"

	"github.com/reagent-dev/reagent/llm"
)

// The package has its own types for JSON. Package openai uses the types of go-openai. If this package used them, too, the tests
// of package openai could not find mistakes in these types.

// request is the body of a chat request. A field is a pointer or raw JSON if an absent value must be distinguished from an
// empty one.
type request struct {
	Model               string          `json:"model"`
	Messages            []message       `json:"messages"`
	Tools               []toolSpec      `json:"tools"`
	Stream              bool            `json:"stream"`
	StreamOptions       streamOptions   `json:"stream_options"`
	Temperature         *float64        `json:"temperature"`
	TopP                *float64        `json:"top_p"`
	MaxTokens           int             `json:"max_tokens"`
	MaxCompletionTokens int             `json:"max_completion_tokens"`
	Seed                *int            `json:"seed"`
	ReasoningEffort     string          `json:"reasoning_effort"`
	ParallelToolCalls   *bool           `json:"parallel_tool_calls"`
	ToolChoice          json.RawMessage `json:"tool_choice"`
	ResponseFormat      json.RawMessage `json:"response_format"`

	// extra has all other fields of the body.
	extra map[string]json.RawMessage
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type message struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCalls  []toolCall      `json:"tool_calls"`
	ToolCallID *string         `json:"tool_call_id"`
	Reasoning  json.RawMessage `json:"reasoning_content"`
}

type toolCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string  `json:"name"`
		Arguments *string `json:"arguments"`
	} `json:"function"`
}

type toolSpec struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

type part struct {
	Type     string  `json:"type"`
	Text     *string `json:"text"`
	ImageURL struct {
		URL string `json:"url"`
	} `json:"image_url"`
}

// known has the JSON names of the fields of [request]. All other fields of a body become [llm.Params.Extra].
var known = []string{
	"model", "messages", "tools", "stream", "stream_options", "temperature", "top_p", "max_tokens",
	"max_completion_tokens", "seed", "reasoning_effort", "parallel_tool_calls", "tool_choice", "response_format",
}

// readRequest decodes the body of a chat request. If the body cannot be decoded, readRequest returns a refusal, and the request
// has only the fields that could be decoded.
func readRequest(body []byte) (*request, *refusal) {
	var r request
	if err := json.Unmarshal(body, &r); err != nil {
		return &r, invalid("", "We could not parse the JSON body of your request: %v", err)
	}
	if err := json.Unmarshal(body, &r.extra); err != nil {
		return &r, invalid("", "The body is not a JSON object: %v", err)
	}
	for _, name := range known {
		delete(r.extra, name)
	}
	return &r, nil
}

func (r *request) request() llm.Request {
	req := llm.Request{
		Candidates: []llm.Candidate{{Name: r.Model, Model: r.Model}},
		Params: llm.Params{
			Temperature:       r.Temperature,
			TopP:              r.TopP,
			MaxOutputTokens:   cmp.Or(r.MaxCompletionTokens, r.MaxTokens),
			Seed:              r.Seed,
			ReasoningEffort:   r.ReasoningEffort,
			ParallelToolCalls: r.ParallelToolCalls,
			ToolChoice:        r.toolChoice(),
			OutputSchema:      r.outputSchema(),
		},
	}
	if len(r.extra) > 0 {
		req.Params.Extra = r.extra
	}
	for _, t := range r.Tools {
		req.Tools = append(req.Tools, llm.ToolSpec(t.Function))
	}
	for _, m := range r.Messages {
		req.Messages = append(req.Messages, m.message())
	}
	return req
}

// toolChoice returns the value for [llm.Params.ToolChoice]: the JSON field `tool_choice` if it is a string, or the name of the function in
// the field if it is an object. It returns "" if the field is absent.
func (r *request) toolChoice() string {
	var word string
	if json.Unmarshal(r.ToolChoice, &word) == nil {
		return word
	}
	var named struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	_ = json.Unmarshal(r.ToolChoice, &named)
	return named.Function.Name
}

// outputSchema returns the JSON schema in the JSON field `response_format`; nil if there is none.
func (r *request) outputSchema() json.RawMessage {
	var format struct {
		JSONSchema struct {
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	}
	_ = json.Unmarshal(r.ResponseFormat, &format)
	return format.JSONSchema.Schema
}

func (m message) message() llm.Message {
	out := llm.Message{Role: llm.Role(m.Role)}
	out.Content, out.Parts = m.content()
	if m.ToolCallID != nil {
		out.ToolCallID = *m.ToolCallID
	}
	for _, call := range m.ToolCalls {
		c := llm.ToolCall{ID: call.ID, Name: call.Function.Name}
		if call.Function.Arguments != nil {
			c.Arguments = *call.Function.Arguments
		}
		out.ToolCalls = append(out.ToolCalls, c)
	}
	return out
}

// reasoning returns the text in the JSON field `reasoning_content`; "" if there is none.
func (m message) reasoning() string {
	var text string
	_ = json.Unmarshal(m.Reasoning, &text)
	return text
}

// content returns the content of the message: the text if the content is a string, or the parts if it is a list.
func (m message) content() (text string, parts []llm.Part) {
	if json.Unmarshal(m.Content, &text) == nil {
		return text, nil
	}
	var list []part
	_ = json.Unmarshal(m.Content, &list)
	for _, p := range list {
		out := llm.Part{Type: p.Type, URL: p.ImageURL.URL}
		if p.Type == "image_url" {
			out.Type = "image"
		}
		if p.Text != nil {
			out.Text = *p.Text
		}
		parts = append(parts, out)
	}
	return "", parts
}
