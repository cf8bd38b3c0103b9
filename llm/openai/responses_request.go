package openai

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/internal/endpoint"
)

type responsesBody struct {
	Model             string                    `json:"model"`
	Instructions      string                    `json:"instructions,omitempty"`
	Input             []any                     `json:"input"`
	Tools             []responsesTool           `json:"tools,omitempty"`
	ToolChoice        any                       `json:"tool_choice,omitempty"`
	ParallelToolCalls *bool                     `json:"parallel_tool_calls,omitempty"`
	MaxOutputTokens   int                       `json:"max_output_tokens,omitempty"`
	Temperature       *float64                  `json:"temperature,omitempty"`
	TopP              *float64                  `json:"top_p,omitempty"`
	Reasoning         *openai.ResponseReasoning `json:"reasoning,omitempty"`
	Text              *responsesText            `json:"text,omitempty"`
	Store             bool                      `json:"store"`
	Include           []openai.ResponseInclude  `json:"include,omitempty"`
	PromptCacheKey    string                    `json:"prompt_cache_key,omitempty"`
	Stream            bool                      `json:"stream,omitempty"`
}

// responsesTool is a function tool. The fields `parameters` and `strict` must be present: without `strict`, the API would change the
// schema and require every property.
type responsesTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"`
}

// responsesText is the field `text`, with the schema of the answer.
type responsesText struct {
	Format any `json:"format"`
}

type responsesFormat struct {
	Type   string          `json:"type"`
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
	Strict bool            `json:"strict"`
}

// responsesOurs are the fields that [llm.Params.Extra] must not set. The client sets most of them. The others would store the
// conversation in the endpoint or use a stored one.
var responsesOurs = []string{
	"background", "conversation", "include", "input", "instructions", "model", "previous_response_id", "store", "stream", "stream_options",
	"tools",
}

// responsesMerged are the fields whose members [llm.Params.Extra] may set one by one, because the client sets only one member. For
// example, "reasoning":{"summary":"auto"} keeps the effort.
var responsesMerged = []string{"reasoning", "text"}

// responsesRequest returns the JSON body of a request in the given form. `family` names the endpoints whose data the request sends back:
// see [llm.Opaque]. The request does not have the parameter `seed`, because the API does not have it. A field in [llm.Params.Extra]
// replaces another field of the same name, except the fields in [responsesMerged]. responsesRequest returns an error if a schema is not
// valid JSON, or if a field in Extra is in [responsesOurs] or is not valid JSON.
func responsesRequest(model string, req llm.Request, form form, family string) ([]byte, error) {
	p := req.Params
	body := responsesBody{
		Model:          model,
		Stream:         !form.has(noStream),
		PromptCacheKey: form.cacheKey(req),
		ToolChoice:     responsesChoice(form.choice(req)),
	}
	if !form.has(noLimit) {
		body.MaxOutputTokens = p.MaxOutputTokens
	}
	if !form.has(noTemperature) {
		body.Temperature = p.Temperature
	}
	if !form.has(noTopP) {
		body.TopP = p.TopP
	}
	if form.has(noReplay) {
		family = ""
	}
	body.Instructions, body.Input = responsesInput(req.Messages, family)
	if !form.has(noInclude) {
		body.Include = []openai.ResponseInclude{openai.ResponseIncludeReasoningEncryptedContent}
	}
	if effort := form.effort(req); effort != "" {
		body.Reasoning = &openai.ResponseReasoning{Effort: effort}
	}
	switch {
	case len(p.OutputSchema) == 0 || form.has(noFormat):
	case form.has(jsonObject):
		body.Text = &responsesText{map[string]string{"type": "json_object"}}
	default:
		body.Text = &responsesText{responsesFormat{Type: "json_schema", Name: "answer", Schema: withProperties(p.OutputSchema)}}
	}
	if len(req.Tools) > 0 && !form.has(noParallel) {
		body.ParallelToolCalls = p.ParallelToolCalls
	}
	for _, t := range req.Tools {
		body.Tools = append(body.Tools, responsesTool{
			Type: "function", Name: t.Name, Description: t.Description, Parameters: withProperties(t.Parameters),
		})
	}
	encoded, err := endpoint.Encode(body)
	if err != nil {
		return nil, fmt.Errorf("the request has a JSON value that is not valid, such as the parameters of a tool or the output schema: %w; correct the value", err)
	}
	return addExtra(encoded, p.Extra)
}

func addExtra(encoded []byte, extra map[string]json.RawMessage) ([]byte, error) {
	if len(extra) == 0 {
		return encoded, nil
	}
	if err := endpoint.CheckExtra(extra, responsesOurs); err != nil {
		return nil, err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(encoded, &all); err != nil { // nested too deeply
		return nil, err
	}
	for name, value := range extra {
		var ours, theirs map[string]json.RawMessage
		if slices.Contains(responsesMerged, name) && json.Unmarshal(all[name], &ours) == nil && json.Unmarshal(value, &theirs) == nil && theirs != nil {
			maps.Copy(ours, theirs)
			value, _ = endpoint.Encode(ours) // its members are JSON
		}
		all[name] = value
	}
	return endpoint.Encode(all)
}

// responsesChoice returns the value of the field `tool_choice`. It is like [toolChoice], but the object for a name has another form.
func responsesChoice(choice string) any {
	value := toolChoice(choice)
	if _, named := value.(map[string]any); named {
		return map[string]string{"type": "function", "name": choice}
	}
	return value
}

// withProperties adds an empty member "properties" to the JSON schema of an object without this member, because OpenAI refuses such a
// schema of a function. For an empty schema, withProperties returns the schema of an object without properties. It returns other schemas
// unchanged.
func withProperties(schema json.RawMessage) json.RawMessage {
	if len(schema) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(schema, &object) != nil || string(object["type"]) != `"object"` || object["properties"] != nil {
		return schema
	}
	open := strings.TrimSuffix(strings.TrimSpace(string(schema)), "}")
	return json.RawMessage(open + `,"properties":{}}`)
}
