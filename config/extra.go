package config

import (
	"bytes"
	"encoding/json"

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
		"cache_control": "the worker sets it; prompt_cache: false beside extra turns it off",
	},
	"responses": {
		"input":                "the worker sends the agent's transcript",
		"instructions":         "write instructions at the agent",
		"include":              "the worker sets it",
		"store":                "the worker keeps the conversation itself",
		"previous_response_id": "the worker keeps the conversation itself",
	},
}

// extra returns a function that reads the field `extra` of a model and stores it in `*into`. The field is a mapping. Its
// entries are sent to the endpoint unchanged, as fields of each request.
func (r *reader) extra(into *map[string]json.RawMessage) func(place) {
	return func(p place) {
		m := map[string]json.RawMessage{}
		r.entries(p, func(key string, value place) {
			if why, ok := reserved[key]; ok {
				r.problemf(value.path, "cannot be set here: %s", why)
				return
			}
			var b bytes.Buffer
			if r.json(&b, value) {
				m[key] = b.Bytes()
			}
		})
		*into = m
	}
}

// json appends a value to `b` as JSON. If the value has a problem, json reports the problem and returns false. Numbers keep
// the digits that they have in the file: 1.0 stays 1.0, and a number with twenty digits keeps all of them.
func (r *reader) json(b *bytes.Buffer, p place) bool {
	before := len(r.problems)
	switch p.node.Kind {
	case yaml.MappingNode:
		separator := byte('{')
		r.entries(p, func(key string, value place) {
			b.WriteByte(separator)
			separator = ','
			b.Write(jsonString(key))
			b.WriteByte(':')
			r.json(b, value)
		})
		if separator == '{' {
			b.WriteByte('{')
		}
		b.WriteByte('}')
	case yaml.SequenceNode:
		separator := byte('[')
		r.list(p, func(item place) {
			b.WriteByte(separator)
			separator = ','
			r.json(b, item)
		})
		if separator == '[' {
			b.WriteByte('[')
		}
		b.WriteByte(']')
	default:
		r.jsonScalar(b, p)
	}
	return len(r.problems) == before
}

func (r *reader) jsonScalar(b *bytes.Buffer, p place) {
	switch p.node.ShortTag() {
	case "!!null":
		b.WriteString("null")
	case "!!bool":
		var v bool
		if p.node.Decode(&v) == nil && v {
			b.WriteString("true")
		} else {
			b.WriteString("false")
		}
	case "!!int", "!!float":
		if !json.Valid([]byte(p.node.Value)) {
			r.problemf(p.path, "%s is not a number in JSON; write it in plain decimal, or in quotes for a text", p.node.Value)
			return
		}
		b.WriteString(p.node.Value)
	case "!!str", "!!timestamp":
		b.Write(jsonString(p.node.Value))
	default:
		r.problemf(p.path, "has the YAML tag %s, for which JSON has no value; write a text, a number, true, false, a list or a mapping", p.node.ShortTag())
	}
}

func jsonString(s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // keeps <, > and &
	_ = enc.Encode(s)        // neither a string nor a bytes.Buffer causes an error
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
