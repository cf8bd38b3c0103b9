package standin

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"
)

// maxCallID is the maximum length of the ID of a tool call, in bytes.
const maxCallID = 40

// openAIMembers are the members that a message of each role may have.
var openAIMembers = map[string][]string{
	"system":    {"role", "content", "name"},
	"developer": {"role", "content", "name"},
	"user":      {"role", "content", "name"},
	"assistant": {"role", "content", "name", "tool_calls", "refusal", "audio", "function_call"},
	"tool":      {"role", "content", "tool_call_id"},
}

// openAIRules are the rules of OpenAI's own API that an [Endpoint] does not check by itself.
var openAIRules = []rule{openAIKnows, openAICallIDs, openAISchemas, openAIParameters, openAITools, openAICacheKey}

// OpenAI returns a [Provider] that behaves like OpenAI's own API. The name of the model determines which rules apply; see also
// [Provider.Reasoning].
//   - All models refuse IDs of tool calls with more than 40 characters, schemas without the member `properties`, and unknown
//     members of messages and calls.
//   - Reasoning models refuse `max_tokens`, and each `temperature` except 1. From gpt-5.1 on, they accept others if the effort is
//     "none".
//   - Models without reasoning refuse `reasoning_effort`.
//   - A `prompt_cache_key` has at most 64 characters.
//   - From gpt-5.4 on, models refuse tools together with a `reasoning_effort` other than "none". From gpt-5.6 on, tools need the
//     effort "none".
//
// Sources: OpenAI's API reference and its guide "Reasoning", and the issues that the comments of the functions name.
func OpenAI() *Provider {
	return &Provider{rules: openAIRules}
}

func coded(r *refusal, code string) *refusal {
	r.code = code
	return r
}

// openAIKnows refuses unknown members of messages and calls. Source: teabranch/open-responses-server#41 quotes the wording for a
// member of the body; FastGPT's documentation quotes it for a member of a call.
func openAIKnows(_ *Provider, r *posted) *refusal {
	unknown := func(at string, found map[string]json.RawMessage, known []string) *refusal {
		for _, name := range sorted(found) {
			if !slices.Contains(known, name) {
				return coded(invalid(at+"."+name, "Unknown parameter: '%s.%s'.", at, name), "unknown_parameter")
			}
		}
		return nil
	}
	for i, m := range r.each {
		at := fmt.Sprintf("messages[%d]", i)
		if refused := unknown(at, m, openAIMembers[r.Messages[i].Role]); refused != nil {
			return refused
		}
		for n, call := range r.calls(i) {
			if refused := unknown(fmt.Sprintf("%s.tool_calls[%d]", at, n), call, []string{"id", "type", "function"}); refused != nil {
				return refused
			}
		}
	}
	return nil
}

// openAICallIDs refuses long IDs of tool calls. Source: camel-ai/camel#2215 and microsoft/autogen#6377.
func openAICallIDs(_ *Provider, r *posted) *refusal {
	long := func(at, id string) *refusal {
		if len(id) <= maxCallID {
			return nil
		}
		return coded(invalid(at, "Invalid '%s': string too long. Expected a string with maximum length %d, but got a string with length %d instead.", at, maxCallID, len(id)), "string_above_max_length")
	}
	for i, m := range r.Messages {
		for n, call := range m.ToolCalls {
			if refused := long(fmt.Sprintf("messages[%d].tool_calls[%d].id", i, n), call.ID); refused != nil {
				return refused
			}
		}
		if m.ToolCallID != nil {
			if refused := long(fmt.Sprintf("messages[%d].tool_call_id", i), *m.ToolCallID); refused != nil {
				return refused
			}
		}
	}
	return nil
}

// maxCacheKey is the maximum length of `prompt_cache_key`, in characters.
const maxCacheKey = 64

// openAICacheKey refuses a long key of the prompt cache.
func openAICacheKey(_ *Provider, r *posted) *refusal {
	return checkCacheKey(r.fields["prompt_cache_key"])
}

// checkCacheKey returns the error response for a key of the prompt cache that is too long. Source: theopenco/llmgateway#3110.
func checkCacheKey(field json.RawMessage) *refusal {
	var value string
	if _ = json.Unmarshal(field, &value); utf8.RuneCountInString(value) <= maxCacheKey {
		return nil
	}
	return coded(invalid("prompt_cache_key", "Invalid 'prompt_cache_key': string too long. Expected a string with maximum length %d, but got a string with length %d instead.",
		maxCacheKey, utf8.RuneCountInString(value)), "string_above_max_length")
}

// openAISchemas refuses schemas of tools without the member `properties`. Source: github/github-mcp-server#1548.
func openAISchemas(_ *Provider, r *posted) *refusal {
	for i, t := range r.Tools {
		var schema map[string]json.RawMessage
		if t.Function.Parameters != nil && json.Unmarshal(t.Function.Parameters, &schema) == nil && schema["properties"] == nil {
			return coded(invalid(fmt.Sprintf("tools[%d].function.parameters", i),
				"Invalid schema for function '%s': In context=(), object schema missing properties.", t.Function.Name), "invalid_function_parameters")
		}
	}
	return nil
}

// openAIParameters refuses parameters that the model does not support. Sources: MaximeRivest/riddle#7 for `max_tokens`,
// diffbot/code-gpt-docs#445 for `temperature`, davidmigloz/langchain_dart#712 for `reasoning_effort`. HKUDS/nanobot#370 reports that
// models from gpt-5.1 on accept a temperature if the effort is "none".
func openAIParameters(p *Provider, r *posted) *refusal {
	if !p.Reasoning && !reasons(r.Model) {
		if r.ReasoningEffort != "" {
			return invalid("", "Unrecognized request argument supplied: reasoning_effort")
		}
		return nil
	}
	if r.fields["max_tokens"] != nil {
		return coded(invalid("max_tokens", "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."), "unsupported_parameter")
	}
	if t := r.Temperature; t != nil && *t != 1 && (r.ReasoningEffort != "none" || generation(r.Model) <= 50) {
		return coded(invalid("temperature", "Unsupported value: 'temperature' does not support %s with this model. Only the default (1) value is supported.",
			strconv.FormatFloat(*t, 'g', -1, 64)), "unsupported_value")
	}
	return nil
}

// openAITools refuses tools together with reasoning. Sources: pipecat-ai/pipecat#4043 for gpt-5.4, BerriAI/litellm#34569 for gpt-5.6.
func openAITools(_ *Provider, r *posted) *refusal {
	const wording = "Function tools with reasoning_effort are not supported for %s in /v1/chat/completions. "
	since, effort := generation(r.Model), r.ReasoningEffort
	switch {
	case len(r.Tools) == 0 || since < 54 || effort == "none" || since < 56 && effort == "":
		return nil
	case since < 56:
		return invalid("reasoning_effort", wording+"Please use /v1/responses instead.", r.Model)
	}
	return invalid("reasoning_effort", wording+"To use function tools, use /v1/responses or set reasoning_effort to 'none'.", r.Model)
}
