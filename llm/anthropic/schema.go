package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/internal/endpoint"
)

type toolSpec struct {
	Name         string          `json:"name"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"input_schema"`
	CacheControl *cacheControl   `json:"cache_control,omitempty"`
}

func toolSpecs(tools []llm.ToolSpec) ([]toolSpec, error) {
	var wire []toolSpec
	for _, t := range tools {
		schema, err := inputSchema(t.Parameters)
		if err != nil {
			return nil, fmt.Errorf("the parameters of the tool %q are not a JSON object; use a JSON schema such as {\"type\": \"object\"}", t.Name)
		}
		wire = append(wire, toolSpec{Name: t.Name, Description: t.Description, InputSchema: schema})
	}
	return wire, nil
}

// inputSchema returns the schema of a tool's arguments in the form that the API accepts. It adds `type` ("object") and `properties` if they
// are missing, and removes `anyOf`, `oneOf` and `allOf` at the top. The other members keep their order and their bytes. An empty schema
// counts as {}. Any other schema that is not a JSON object is an error.
func inputSchema(schema json.RawMessage) (json.RawMessage, error) {
	if len(bytes.TrimSpace(schema)) == 0 {
		schema = json.RawMessage("{}")
	}
	all, err := members(schema)
	if err != nil {
		return nil, err
	}
	// The API refuses these members at the top. The tool checks its arguments with the original schema.
	all = slices.DeleteFunc(all, func(m member) bool { return m.name == "anyOf" || m.name == "oneOf" || m.name == "allOf" })
	all = withDefault(all, "type", `"object"`)
	return object(withDefault(all, "properties", "{}")), nil
}

// outputSchema returns the schema of the reply in the form that the API accepts: each schema of an object must forbid additional
// properties. So outputSchema adds `"additionalProperties": false` to each schema of an object that has no such member. The argument may
// also be a list of schemas. Any other value is returned unchanged. The agent checks the reply with the original schema.
func outputSchema(schema json.RawMessage) json.RawMessage {
	if all, err := members(schema); err == nil {
		for i, m := range all {
			all[i].value = closedMember(m)
		}
		if describesObject(all) {
			all = withDefault(all, "additionalProperties", "false")
		}
		return object(all)
	}
	var list []json.RawMessage
	if json.Unmarshal(schema, &list) != nil || len(list) == 0 {
		return schema
	}
	for i := range list {
		list[i] = outputSchema(list[i])
	}
	encoded, err := endpoint.Encode(list)
	if err != nil {
		return schema
	}
	return encoded
}

// closedMember returns the value of a member of a schema, with [outputSchema] applied to the schemas in it.
func closedMember(m member) json.RawMessage {
	switch m.name {
	case "items", "prefixItems", "anyOf", "allOf", "oneOf", "not", "if", "then", "else", "contains", "additionalProperties":
		return outputSchema(m.value)
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		named, err := members(m.value)
		if err != nil {
			return m.value
		}
		for i := range named {
			named[i].value = outputSchema(named[i].value)
		}
		return object(named)
	}
	return m.value
}

func describesObject(schema []member) bool {
	for _, m := range schema {
		if m.name == "properties" || m.name == "type" && bytes.Contains(m.value, []byte(`"object"`)) {
			return true
		}
	}
	return false
}

type member struct {
	name  string
	value json.RawMessage
}

// members returns the members of a JSON object in their order. It returns an error if the text is not a JSON object, or if more text
// follows the object.
func members(encoded json.RawMessage) ([]member, error) {
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return nil, fmt.Errorf("not a JSON object")
	}
	all := []member{}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, err
		}
		all = append(all, member{name.(string), value})
	}
	if _, err := decoder.Token(); err != nil {
		return nil, err
	}
	if decoder.More() {
		return nil, errors.New("more text follows the JSON object")
	}
	return all, nil
}

// withDefault adds a member, unless the object has a member of this name.
func withDefault(all []member, name, value string) []member {
	if slices.ContainsFunc(all, func(m member) bool { return m.name == name }) {
		return all
	}
	return append(all, member{name, json.RawMessage(value)})
}

func object(all []member) json.RawMessage {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, m := range all {
		if i > 0 {
			out.WriteByte(',')
		}
		name, _ := endpoint.Encode(m.name) // a string has a JSON form
		out.Write(name)
		out.WriteByte(':')
		out.Write(m.value)
	}
	out.WriteByte('}')
	return out.Bytes()
}
