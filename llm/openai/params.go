package openai

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/internal/endpoint"
)

// body has the tools and the parameters of a request's JSON body. The model and the messages come from [writer.chatRequest], and the
// fields for streaming from [form.fields]. The request type of go-openai is not used, for three reasons:
//   - It omits a temperature of 0.
//   - It stores the fields `temperature` and `top_p` as float32.
//   - It refuses some parameters depending on the model's name, although the endpoint may accept them.
type body struct {
	Temperature         *float64        `json:"temperature,omitempty"`
	TopP                *float64        `json:"top_p,omitempty"`
	MaxTokens           int             `json:"max_tokens,omitempty"`
	MaxCompletionTokens int             `json:"max_completion_tokens,omitempty"`
	Seed                *int            `json:"seed,omitempty"`
	ReasoningEffort     string          `json:"reasoning_effort,omitempty"`
	PromptCacheKey      string          `json:"prompt_cache_key,omitempty"`
	ParallelToolCalls   *bool           `json:"parallel_tool_calls,omitempty"`
	ToolChoice          any             `json:"tool_choice,omitempty"`
	ResponseFormat      *responseFormat `json:"response_format,omitempty"`
	Tools               []toolSpec      `json:"tools,omitempty"`
}

type toolSpec struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

type responseFormat struct {
	Type       string      `json:"type"`
	JSONSchema *jsonSchema `json:"json_schema,omitempty"`
}

// jsonSchema is the field `json_schema` of the field `response_format`. It has the field `strict` only for endpoints that demand it,
// because in strict mode endpoints refuse schemas with optional fields. Use [llm.Params.Extra] to send a different
// `response_format`.
type jsonSchema struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
	Strict bool            `json:"strict,omitempty"`
}

// ours are the fields that [llm.Params.Extra] must not have. The model, the messages and the tools must not be replaced,
// because the key of the request was computed from them. The fields `stream` and `stream_options` depend on the [form] of the
// request.
var ours = []string{"messages", "model", "stream", "stream_options", "tools"}

// fields returns the fields of a request's body, except the model, the messages and the fields for streaming. A field in [llm.Params.Extra]
// replaces another field of the same name. fields returns an error if a schema is not valid JSON, or if a field in Extra is in [ours] or is
// not valid JSON.
func fields(req llm.Request, form form) (map[string]json.RawMessage, error) {
	p := req.Params
	wire := body{
		Temperature:     p.Temperature,
		TopP:            p.TopP,
		Seed:            p.Seed,
		ReasoningEffort: form.effort(req),
		PromptCacheKey:  form.cacheKey(req),
		ToolChoice:      toolChoice(form.choice(req)),
	}
	switch {
	case form.has(noLimit):
	case form.has(newLimit):
		wire.MaxCompletionTokens = p.MaxOutputTokens
	default:
		wire.MaxTokens = p.MaxOutputTokens
	}
	// Endpoints refuse this field in a request without tools.
	if len(req.Tools) > 0 {
		wire.ParallelToolCalls = p.ParallelToolCalls
	}
	switch {
	case len(p.OutputSchema) == 0 || form.has(noFormat):
	case form.has(jsonObject):
		wire.ResponseFormat = &responseFormat{Type: "json_object"}
	default:
		wire.ResponseFormat = &responseFormat{"json_schema", &jsonSchema{Name: "answer", Schema: p.OutputSchema, Strict: form.has(strictSchema)}}
	}
	for _, t := range req.Tools {
		t.Parameters = parameters(t.Parameters, form)
		wire.Tools = append(wire.Tools, toolSpec{"function", function(t)})
	}

	encoded, err := endpoint.Encode(wire)
	if err != nil {
		return nil, fmt.Errorf("the request has a JSON value that is not valid, such as the parameters of a tool or the output schema: %w; correct the value", err)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(encoded, &all); err != nil { // nested too deeply
		return nil, err
	}
	if err := endpoint.CheckExtra(p.Extra, ours); err != nil {
		return nil, err
	}
	maps.Copy(all, p.Extra)
	return all, nil
}

// parameters returns the JSON schema of a tool's parameters in the given form: see [withProperties]. If the form has [noEmptySchema],
// parameters returns nil for the schema of an object without properties. A schema that cannot be
// decoded is returned as it is.
func parameters(schema json.RawMessage, form form) json.RawMessage {
	var object struct {
		Type       string          `json:"type"`
		Properties json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &object) != nil {
		return schema
	}
	if form.has(noEmptySchema) && object.Type == "object" && !present(object.Properties) {
		return nil
	}
	return withProperties(schema)
}

// toolChoice returns the value of the field `tool_choice`. For "", it returns nil, and the field is not sent. It returns
// "auto", "none" and "required" unchanged. Any other choice is the name of a tool. For a name, toolChoice returns an object
// with this name.
func toolChoice(choice string) any {
	switch choice {
	case "":
		return nil
	case "auto", "none", "required":
		return choice
	}
	return map[string]any{"type": "function", "function": map[string]string{"name": choice}}
}
