package anthropic

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/reagent-dev/reagent/internal/exact"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/internal/endpoint"
)

// defaultMaxTokens is the output limit of a request that has none, in tokens. The API requires a limit. Anthropic's newer models accept
// this one. If a model refuses it, the client learns the limit of the model from the error: see [form].
const defaultMaxTokens = 64000

type body struct {
	Model        string        `json:"model"`
	MaxTokens    int           `json:"max_tokens"`
	System       []block       `json:"system,omitempty"`
	Tools        []toolSpec    `json:"tools,omitempty"`
	ToolChoice   *toolChoice   `json:"tool_choice,omitempty"`
	Messages     []turn        `json:"messages"`
	Thinking     *thinking     `json:"thinking,omitempty"`
	OutputConfig *outputConfig `json:"output_config,omitempty"`
	Temperature  *float64      `json:"temperature,omitempty"`
	TopP         *float64      `json:"top_p,omitempty"`
	Stream       bool          `json:"stream,omitempty"`
}

type toolChoice struct {
	Type                   string `json:"type"`
	Name                   string `json:"name,omitempty"`
	DisableParallelToolUse bool   `json:"disable_parallel_tool_use,omitempty"`
}

type outputConfig struct {
	Effort string        `json:"effort,omitempty"`
	Format *outputFormat `json:"format,omitempty"`
}

type outputFormat struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
}

// ours are the fields that [llm.Params.Extra] must not have. The model, the messages, the system prompt and the tools must not be
// replaced, because the key of the request was computed from them. The field `stream` depends on the [form] of the request.
var ours = []string{"messages", "model", "stream", "system", "tools"}

// encodeBody returns the body of a request in the given form. A field in [llm.Params.Extra] replaces the client's field of the same name.
// encodeBody returns an error if the API has no form for a message or a tool, or if a field in Extra is in [ours] or is not valid JSON.
func encodeBody(model, family string, req llm.Request, f form) ([]byte, error) {
	p := req.Params
	req = f.request(req)
	conversation, err := newConversation(req.Messages, family, f)
	if err != nil {
		return nil, err
	}
	wire := body{Model: model, MaxTokens: f.maxTokens(p), Stream: !f.plain, ToolChoice: f.toolChoice(req)}
	if wire.Tools, err = toolSpecs(req.Tools); err != nil {
		return nil, err
	}
	if len(req.Tools) == 0 && f.declared {
		wire.Tools, wire.ToolChoice = conversation.usedTools(), nil
	}
	if here := f.marks(); here != nil {
		conversation.mark(wire.Tools, here)
	}
	wire.System, wire.Messages = conversation.system, conversation.turns
	wire.Thinking = f.thinking(req, wire.MaxTokens, conversation.unsigned())
	wire.Temperature, wire.TopP = f.sampling(p, wire.Thinking)
	if effort, format := f.effort(p), f.format(p); effort != "" || format != nil {
		wire.OutputConfig = &outputConfig{effort, format}
	}
	encoded, err := endpoint.Encode(wire)
	if err != nil {
		return nil, fmt.Errorf("the request has a JSON value that is not valid, such as the parameters of a tool or the output schema: %w; correct the value", err)
	}
	return merge(encoded, f.extra(p.Extra, conversation.unsigned()))
}

// extra returns the extra parameters that are sent. It omits a thinking budget if the API would refuse it: if the form has `bare`, or if
// `unsigned`, the result of [conversation.unsigned], is true. If the form has `mute`, it omits each field `thinking`.
func (f form) extra(extra map[string]json.RawMessage, unsigned bool) map[string]json.RawMessage {
	var own thinking
	_ = json.Unmarshal(extra["thinking"], &own)
	if refused := own.Type == "enabled" && (unsigned || f.bare); !refused && !f.mute {
		return extra
	}
	extra = maps.Clone(extra)
	delete(extra, "thinking")
	return extra
}

// usedTools returns a tool for each tool name in the tool calls of the conversation. Some endpoints refuse tool calls in a
// request without tools.
func (c *conversation) usedTools() []toolSpec {
	names := map[string]bool{}
	for _, t := range c.turns {
		for _, b := range t.Content {
			if b.Type == "tool_use" {
				names[b.Name] = true
			}
		}
	}
	var tools []toolSpec
	for _, name := range slices.Sorted(maps.Keys(names)) {
		tools = append(tools, toolSpec{Name: name, InputSchema: json.RawMessage(`{"type":"object","properties":{}}`)})
	}
	return tools
}

// merge adds the extra parameters to the body of a request. They replace fields of the same name. A parameter in [ours], or with
// a value that is not JSON, is an error.
func merge(encoded []byte, extra map[string]json.RawMessage) ([]byte, error) {
	if len(extra) == 0 {
		return encoded, nil
	}
	if err := endpoint.CheckExtra(extra, ours); err != nil {
		return nil, err
	}
	all, err := members(encoded)
	if err != nil { // nested too deeply
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		all = slices.DeleteFunc(all, func(m exact.Member) bool { return m.Name == name })
		all = append(all, exact.Member{Name: name, Value: extra[name]})
	}
	return exact.Object(all), nil
}

// maxTokens returns the output limit of a request, in tokens: that of the parameters or [defaultMaxTokens], or a smaller limit in the form.
func (f form) maxTokens(p llm.Params) int {
	limit := cmp.Or(p.MaxOutputTokens, defaultMaxTokens)
	return min(limit, cmp.Or(f.limit, limit), cmp.Or(f.room, limit))
}

// toolChoice returns the value of the field `tool_choice`; nil if the field is not sent.
func (f form) toolChoice(req llm.Request) *toolChoice {
	if len(req.Tools) == 0 {
		return nil
	}
	choice := &toolChoice{DisableParallelToolUse: req.Params.ParallelToolCalls != nil && !*req.Params.ParallelToolCalls && !f.unserial}
	switch word := req.Params.ToolChoice; {
	case word == "none":
		return &toolChoice{Type: "none"}
	case word == "" && !choice.DisableParallelToolUse:
		return nil
	case word == "" || word == "auto" || f.unforced:
		choice.Type = "auto"
	case word == "required":
		choice.Type = "any"
	default:
		choice.Type, choice.Name = "tool", word
	}
	return choice
}

// format returns the value of the field `output_config.format`; nil if the field is not sent.
func (f form) format(p llm.Params) *outputFormat {
	if len(p.OutputSchema) == 0 || f.unformatted {
		return nil
	}
	return &outputFormat{"json_schema", outputSchema(p.OutputSchema)}
}
