package standin

import (
	"encoding/json"
	"slices"

	"github.com/reagent-dev/reagent/llm"
)

// responsesRequest is the body of a request to the Responses API. A field is a pointer or raw JSON if an absent value must be
// distinguished from an empty one.
type responsesRequest struct {
	Model             string             `json:"model"`
	Instructions      string             `json:"instructions"`
	Input             []responsesItem    `json:"input"`
	Tools             []responsesTool    `json:"tools"`
	ToolChoice        json.RawMessage    `json:"tool_choice"`
	ParallelToolCalls *bool              `json:"parallel_tool_calls"`
	MaxOutputTokens   *int               `json:"max_output_tokens"`
	Temperature       *float64           `json:"temperature"`
	TopP              *float64           `json:"top_p"`
	Reasoning         responsesReasoning `json:"reasoning"`
	Text              responsesText      `json:"text"`
	Store             *bool              `json:"store"`
	Include           []string           `json:"include"`
	Stream            bool               `json:"stream"`

	// extra has all other fields of the body.
	extra map[string]json.RawMessage
}

type responsesReasoning struct {
	Effort  string `json:"effort"`
	Summary string `json:"summary"`
}

type responsesText struct {
	Format *responsesFormat `json:"format"`
}

type responsesFormat struct {
	Type   string          `json:"type"`
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
	Strict *bool           `json:"strict"`
}

type responsesTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      *bool           `json:"strict"`
}

// responsesItem is an item of the input: a message, a function call, the output of a function call, or reasoning.
type responsesItem struct {
	Type      string           `json:"type"`
	ID        *string          `json:"id"`
	Role      string           `json:"role"`
	Phase     *string          `json:"phase"`
	Content   json.RawMessage  `json:"content"`
	CallID    *string          `json:"call_id"`
	Name      *string          `json:"name"`
	Arguments *string          `json:"arguments"`
	Output    json.RawMessage  `json:"output"`
	Summary   *json.RawMessage `json:"summary"`
	Encrypted *string          `json:"encrypted_content"`
}

type responsesPart struct {
	Type     string  `json:"type"`
	Text     *string `json:"text"`
	ImageURL *string `json:"image_url"`
}

// responsesKnown has the JSON names of the fields of [responsesRequest]. All other fields of a body become [llm.Params.Extra].
var responsesKnown = []string{
	"model", "instructions", "input", "tools", "tool_choice", "parallel_tool_calls", "max_output_tokens", "temperature", "top_p", "reasoning",
	"text", "store", "include", "stream",
}

// readResponsesRequest decodes the body of a request. If the body cannot be decoded, it returns a refusal, and the request has
// only the fields that could be decoded.
func readResponsesRequest(body []byte) (*responsesRequest, *refusal) {
	var r responsesRequest
	if err := json.Unmarshal(body, &r); err != nil {
		return &r, invalid("", "We could not parse the JSON body of your request: %v", err)
	}
	if err := json.Unmarshal(body, &r.extra); err != nil {
		return &r, invalid("", "The body is not a JSON object: %v", err)
	}
	for _, name := range responsesKnown {
		delete(r.extra, name)
	}
	return &r, nil
}

// assistant reports whether the item is a part of an assistant message.
func (i responsesItem) assistant() bool {
	return i.Type == "function_call" || i.Type == "reasoning" || i.message() && i.Role == "assistant"
}

// message reports whether the item is a message. The type of a message may be absent.
func (i responsesItem) message() bool { return i.Type == "message" || i.Type == "" && i.Role != "" }

func (r *responsesRequest) request() llm.Request {
	req := llm.Request{
		Candidates: []llm.Candidate{{Name: r.Model, Model: r.Model}},
		Params: llm.Params{
			Temperature:       r.Temperature,
			TopP:              r.TopP,
			ReasoningEffort:   r.Reasoning.Effort,
			ParallelToolCalls: r.ParallelToolCalls,
			ToolChoice:        r.toolChoice(),
		},
	}
	if r.MaxOutputTokens != nil {
		req.Params.MaxOutputTokens = *r.MaxOutputTokens
	}
	if r.Text.Format != nil {
		req.Params.OutputSchema = r.Text.Format.Schema
	}
	if len(r.extra) > 0 {
		req.Params.Extra = r.extra
	}
	for _, t := range r.Tools {
		req.Tools = append(req.Tools, llm.ToolSpec{Name: t.Name, Description: t.Description, Parameters: t.Parameters})
	}
	req.Messages = r.messages()
	return req
}

// toolChoice returns the value for [llm.Params.ToolChoice]: the JSON string, or the name in the JSON object; "" if the field is absent.
func (r *responsesRequest) toolChoice() string {
	var word string
	if json.Unmarshal(r.ToolChoice, &word) == nil {
		return word
	}
	var named struct {
		Name string `json:"name"`
	}
	_ = json.Unmarshal(r.ToolChoice, &named)
	return named.Name
}

// messages converts the instructions and the input into messages. Successive items of the assistant become one message.
func (r *responsesRequest) messages() []llm.Message {
	var all []llm.Message
	if r.Instructions != "" {
		all = append(all, llm.Message{Role: llm.System, Content: r.Instructions})
	}
	for i, item := range r.Input {
		if !item.assistant() {
			all = append(all, item.input())
			continue
		}
		if i == 0 || !r.Input[i-1].assistant() {
			all = append(all, llm.Message{Role: llm.Assistant})
		}
		item.addTo(&all[len(all)-1])
	}
	return slices.Clip(all)
}

// addTo adds an item of the assistant to its message. Reasoning is not added, because only the endpoint can read it.
func (i responsesItem) addTo(m *llm.Message) {
	switch {
	case i.Type == "function_call":
		m.ToolCalls = append(m.ToolCalls, llm.ToolCall{ID: value(i.CallID), Name: value(i.Name), Arguments: value(i.Arguments)})
	case i.message():
		text, parts := responsesContent(i.Content)
		m.Content += text + joined(parts)
	}
}

// input converts the output of a function call, or a message that is not an assistant message.
func (i responsesItem) input() llm.Message {
	m := llm.Message{Role: llm.Role(i.Role)}
	content := i.Content
	if i.Type == "function_call_output" {
		m.Role, m.ToolCallID, content = llm.Tool, value(i.CallID), i.Output
	}
	text, parts := responsesContent(content)
	m.Content = text
	for _, p := range parts {
		out := llm.Part{Type: "text", Text: value(p.Text), URL: value(p.ImageURL)}
		if p.Type == "input_image" {
			out.Type = "image"
		}
		m.Parts = append(m.Parts, out)
	}
	return m
}

// responsesContent decodes the content of a message or of a tool result: a string or a list of parts.
func responsesContent(encoded json.RawMessage) (text string, parts []responsesPart) {
	if json.Unmarshal(encoded, &text) == nil {
		return text, nil
	}
	_ = json.Unmarshal(encoded, &parts)
	return "", parts
}

// value returns the string at a pointer; empty if the pointer is nil.
func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
