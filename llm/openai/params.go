package openai

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/llm"
)

// body holds the fields of a request beside model and messages, in the wire's
// own form. The library's type is not used for them: it drops a temperature of
// 0, keeps 32 bits of the others, and refuses by the model's name what an
// endpoint of that name may well take.
type body struct {
	Temperature         *float64        `json:"temperature,omitempty"`
	TopP                *float64        `json:"top_p,omitempty"`
	MaxTokens           int             `json:"max_tokens,omitempty"`
	MaxCompletionTokens int             `json:"max_completion_tokens,omitempty"`
	Seed                *int            `json:"seed,omitempty"`
	ReasoningEffort     string          `json:"reasoning_effort,omitempty"`
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
	Type       string     `json:"type"`
	JSONSchema jsonSchema `json:"json_schema"`
}

// jsonSchema leaves "strict" out: strict endpoints refuse a schema with optional
// fields. [llm.Params.Extra] may hold a response_format of another form.
type jsonSchema struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
}

// ours are the fields that are never taken from [llm.Params.Extra]: what the
// endpoint sees must be what the request's key was made from.
var ours = []string{"messages", "model", "stream", "stream_options", "tools"}

// fields returns every field of the request's body but the model and the
// messages. Those in Extra win over those that the other parameters make.
func fields(req llm.Request, host string) (map[string]json.RawMessage, error) {
	p := req.Params
	wire := body{
		Temperature:     p.Temperature,
		TopP:            p.TopP,
		Seed:            p.Seed,
		ReasoningEffort: p.ReasoningEffort,
	}
	// OpenAI's newer models refuse max_tokens, and most other endpoints know
	// nothing else. An endpoint that wants the other one gets it through Extra.
	if newLimit(host) {
		wire.MaxCompletionTokens = p.MaxOutputTokens
	} else {
		wire.MaxTokens = p.MaxOutputTokens
	}
	// Endpoints refuse these two beside no tools.
	if len(req.Tools) > 0 {
		wire.ParallelToolCalls = p.ParallelToolCalls
		wire.ToolChoice = toolChoice(p.ToolChoice)
	}
	if len(p.OutputSchema) > 0 {
		wire.ResponseFormat = &responseFormat{"json_schema", jsonSchema{Name: "answer", Schema: p.OutputSchema}}
	}
	for _, t := range req.Tools {
		wire.Tools = append(wire.Tools, toolSpec{"function", function(t)})
	}

	encoded, err := encode(wire)
	if err != nil {
		return nil, fmt.Errorf("a schema is not JSON: %w", err)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(encoded, &all); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(p.Extra)) {
		if slices.Contains(ours, name) {
			return nil, fmt.Errorf("the extra parameter %q is set by the client itself", name)
		}
		if !json.Valid(p.Extra[name]) {
			return nil, fmt.Errorf("the extra parameter %q is not JSON", name)
		}
		all[name] = p.Extra[name]
	}
	return all, nil
}

// newLimit reports whether host takes max_completion_tokens.
func newLimit(host string) bool {
	name, _, _ := strings.Cut(host, ":")
	return name == "openai.com" || strings.HasSuffix(name, ".openai.com") || strings.HasSuffix(name, ".openai.azure.com")
}

func toolChoice(choice string) any {
	switch choice {
	case "":
		return nil
	case "auto", "none", "required":
		return choice
	}
	return map[string]any{"type": "function", "function": map[string]string{"name": choice}}
}
