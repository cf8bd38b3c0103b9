package repair

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/llm"
)

// parameter is one argument of a call that is not written as JSON.
type parameter struct {
	name, value string
	// declared says whether the markup itself declares the value a string: "true", "false", or "" if it says nothing.
	declared string
}

// object returns parameters as a JSON object. The schema of the tool decides which values are strings. object returns false if two
// parameters have the same name, or if a value that the markup declares not to be a string is not valid JSON.
func object(parameters []parameter, tool llm.ToolSpec) (string, bool) {
	types := typesOf(tool)
	seen := map[string]bool{}
	out := []byte{'{'}
	for _, p := range parameters {
		if seen[p.name] {
			return "", false
		}
		if seen[p.name] = true; len(out) > 1 {
			out = append(out, ',')
		}
		value, ok := p.json(types[p.name])
		if !ok {
			return "", false
		}
		out = append(append(encode(out, p.name), ':'), value...)
	}
	return string(append(out, '}')), true
}

// json returns the value of the parameter as JSON. `types` are the types that the schema allows; none means that the schema has no
// types. json returns false if the markup declares that the value is not a string, but the value is not valid JSON.
func (p parameter) json(types []string) ([]byte, bool) {
	text := p.value
	if p.declared != "true" && (p.declared == "false" || !slices.Contains(types, "string")) {
		literal := strings.TrimSpace(text)
		literal = cmp.Or(pythonWords[literal], literal)
		if json.Valid([]byte(literal)) {
			return []byte(literal), true
		}
		if p.declared == "false" {
			return nil, false
		}
	}
	return encode(nil, text), true
}

// typesOf returns the types that the schema of a tool allows for each property.
func typesOf(tool llm.ToolSpec) map[string][]string {
	type property struct {
		Type json.RawMessage `json:"type"`
	}
	var schema struct {
		Properties map[string]struct {
			property
			AnyOf []property `json:"anyOf"`
			OneOf []property `json:"oneOf"`
		} `json:"properties"`
	}
	_ = json.Unmarshal(tool.Parameters, &schema)
	types := map[string][]string{}
	for name, p := range schema.Properties {
		for _, alternative := range slices.Concat([]property{p.property}, p.AnyOf, p.OneOf) {
			var one string
			var several []string
			if json.Unmarshal(alternative.Type, &one) == nil {
				several = []string{one}
			} else {
				_ = json.Unmarshal(alternative.Type, &several)
			}
			types[name] = append(types[name], several...)
		}
	}
	return types
}
