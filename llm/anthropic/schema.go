package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/reagent-dev/reagent/internal/exact"
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
	all = slices.DeleteFunc(all, func(m exact.Member) bool { return m.Name == "anyOf" || m.Name == "oneOf" || m.Name == "allOf" })
	all = withDefault(all, "type", `"object"`)
	return exact.Object(withDefault(all, "properties", "{}")), nil
}

// outputSchema returns the schema of the reply in the form that the API accepts: each schema of an object must forbid additional
// properties. So outputSchema adds `"additionalProperties": false` to each schema of an object that has no such member. The argument may
// also be a list of schemas. Any other value is returned unchanged. The agent checks the reply with the original schema.
func outputSchema(schema json.RawMessage) json.RawMessage {
	if all, err := members(schema); err == nil {
		for i, m := range all {
			all[i].Value = closedMember(m)
		}
		if slices.ContainsFunc(all, describesObject) {
			all = withDefault(all, "additionalProperties", "false")
		}
		return exact.Object(all)
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
func closedMember(m exact.Member) json.RawMessage {
	switch m.Name {
	case "items", "prefixItems", "anyOf", "allOf", "oneOf", "not", "if", "then", "else", "contains", "additionalProperties":
		return outputSchema(m.Value)
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		named, err := members(m.Value)
		if err != nil {
			return m.Value
		}
		for i := range named {
			named[i].Value = outputSchema(named[i].Value)
		}
		return exact.Object(named)
	}
	return m.Value
}

func describesObject(m exact.Member) bool {
	return m.Name == "properties" || m.Name == "type" && bytes.Contains(m.Value, []byte(`"object"`))
}

// members returns the members of a JSON object in their order. It returns an error if the text is not a JSON object.
func members(encoded json.RawMessage) ([]exact.Member, error) {
	if !llm.IsObject(string(encoded)) {
		return nil, errors.New("not a JSON object")
	}
	return exact.Members(encoded)
}

// withMember sets a member: in its place if the object has it, and at the end if not.
func withMember(all []exact.Member, name string, value json.RawMessage) []exact.Member {
	if i := slices.IndexFunc(all, func(m exact.Member) bool { return m.Name == name }); i >= 0 {
		all[i].Value = value
		return all
	}
	return append(all, exact.Member{Name: name, Value: value})
}

// withDefault adds a member, unless the object has a member of this name.
func withDefault(all []exact.Member, name, value string) []exact.Member {
	if slices.ContainsFunc(all, func(m exact.Member) bool { return m.Name == name }) {
		return all
	}
	return append(all, exact.Member{Name: name, Value: json.RawMessage(value)})
}
