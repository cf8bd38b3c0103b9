package config

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"go.yaml.in/yaml/v3"
)

// reserved has the request fields that the field `extra` of a model must not contain, because they are set elsewhere. The map
// keys are the names of these fields. Each value is a part of the error text: it says why the field is refused, or what to
// write instead.
var reserved = map[string]string{
	"model":                 "write it beside extra",
	"messages":              "the worker sends the agent's transcript",
	"tools":                 "the worker sends the agent's tools",
	"stream":                "write it beside extra",
	"stream_options":        "the worker sets it",
	"n":                     "the worker reads only one choice of a response",
	"temperature":           "write it beside extra",
	"top_p":                 "write it beside extra",
	"max_tokens":            "write max_output_tokens beside extra",
	"max_completion_tokens": "write max_output_tokens beside extra",
	"seed":                  "write it beside extra",
	"reasoning_effort":      "write it beside extra",
	"parallel_tool_calls":   "write it beside extra",
	"tool_choice":           "write it beside extra",
}

// reservedBy has more such fields, for the provider "anthropic" and for the Responses API of the provider "openai".
var reservedBy = map[string]map[string]string{
	"anthropic": {
		"system":        "write instructions at the agent",
		"cache_control": "the worker sets it; write prompt_cache beside extra",
	},
	"responses": {
		"input":                "the worker sends the agent's transcript",
		"instructions":         "write instructions at the agent",
		"include":              "the worker sets it",
		"store":                "the worker keeps the conversation itself",
		"previous_response_id": "the worker keeps the conversation itself",
	},
}

// extra reads the field `extra` of a model, a mapping. Its entries are sent to the endpoint unchanged, as fields of each request.
func (r *reader) extra(p place) map[string]json.RawMessage {
	m := map[string]json.RawMessage{}
	if p.shape != nil {
		p.shape.PropertyNames = &jsonschema.Schema{Not: &jsonschema.Schema{}}
		enum(p.shape.PropertyNames.Not, sorted(reserved))
	}
	r.entries(p, func(key string, value place) {
		if why, ok := reserved[key]; ok {
			r.problemf(value.path, "cannot be set here: %s", why)
			return
		}
		m[key] = json.RawMessage(r.json(value))
	})
	return m
}

// json returns a value as JSON, with the entries of mappings in the order of the file. Numbers keep the digits that they have in the file:
// 1.0 stays 1.0, and a number with twenty digits keeps all of them. The result has no meaning if json reports a problem.
func (r *reader) json(p place) string {
	if p.shape != nil {
		return "" // the shape stays that of any value
	}
	var parts []string
	switch p.node.Kind {
	case yaml.MappingNode:
		r.entries(p, func(key string, value place) { parts = append(parts, jsonString(key)+":"+r.json(value)) })
		return "{" + strings.Join(parts, ",") + "}"
	case yaml.SequenceNode:
		r.list(p, func(item place) { parts = append(parts, r.json(item)) })
		return "[" + strings.Join(parts, ",") + "]"
	}
	switch p.node.ShortTag() {
	case "!!null":
		return "null"
	case "!!bool":
		var v bool
		return strconv.FormatBool(p.node.Decode(&v) == nil && v)
	case "!!int", "!!float":
		if !json.Valid([]byte(p.node.Value)) {
			r.problemf(p.path, "%s is not a number in JSON; write it in plain decimal, or in quotes for a text", p.node.Value)
		}
		return p.node.Value
	case "!!str", "!!timestamp":
		return jsonString(p.node.Value)
	}
	r.problemf(p.path, "has the YAML tag %s, for which JSON has no value; write a text, a number, true, false, a list or a mapping", p.node.ShortTag())
	return ""
}

func jsonString(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // keeps <, > and &
	_ = enc.Encode(s)        // neither a string nor a Builder causes an error
	return strings.TrimSuffix(b.String(), "\n")
}
