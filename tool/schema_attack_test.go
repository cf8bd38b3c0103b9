package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/tool"
)

// doubling returns a schema with n subschemas that each refer to the next subschema twice. The JSON of each subschema is made
// from a template (use): doubling replaces each NEXT in the template by the reference to the next subschema.
func doubling(n int, use string) string {
	var b strings.Builder
	b.WriteString(`{"type":"object","$ref":"#/$defs/d0","$defs":{`)
	for i := range n {
		next := fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, i+1)
		fmt.Fprintf(&b, `"d%d":%s,`, i, strings.ReplaceAll(use, "NEXT", next))
	}
	fmt.Fprintf(&b, `"d%d":{}}}`, n)
	return b.String()
}

func TestAttackSchemaWithoutEndIsRefused(t *testing.T) {
	for name, schema := range map[string]string{
		"itself":            `{"type":"object","$ref":"#"}`,
		"itself with allOf": `{"type":"object","allOf":[{"$ref":"#"}]}`,
		"itself with not":   `{"type":"object","not":{"not":{"$ref":"#"}}}`,
		"itself with if":    `{"if":{},"then":{"$ref":"#"}}`,
		"a pair":            `{"$ref":"#/$defs/a","$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"}]},"b":{"oneOf":[{"$ref":"#/$defs/a"}]}}}`,
		"an anchor":         `{"$ref":"#x","$defs":{"a":{"$anchor":"x","dependentSchemas":{"p":{"$ref":"#x"}}}}}`,
		"below a property":  `{"properties":{"a/b":{"$ref":"#/properties/a~1b"}}}`,
		"an escape":         `{"properties":{"a b":{"$ref":"#/properties/a%20b"}}}`,
		"its own URI":       `{"$id":"https://example.com/s","allOf":[{"$ref":"https://example.com/s"}]}`,
		"draft 7":           `{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"a":{"$ref":"#/definitions/a"}},"$ref":"#/definitions/a"}`,
		"other spelling":    `{"type":"object","ALLOF":[{"$REF":"#"}]}`,
		"doubling allOf":    doubling(40, `{"allOf":[NEXT,NEXT]}`),
		"doubling anyOf":    doubling(40, `{"anyOf":[NEXT,NEXT]}`),
		"doubling with not": doubling(40, `{"not":NEXT,"oneOf":[NEXT]}`),
		"too deep":          strings.Repeat(`{"not":`, 5000) + `{}` + strings.Repeat(`}`, 5000),
		"large pattern":     `{"pattern":"(xxxxxxxxxx){1,1000}"}`,
		"pattern of names":  `{"patternProperties":{"(xxxxxxxxxx){1,1000}":{}}}`,
		"too long":          `{"description":"` + strings.Repeat("x", 1<<20) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			var refused *tool.SchemaError
			require.ErrorAs(t, tool.CheckSchema(json.RawMessage(schema)), &refused)
			// An agent may have stored such a schema before it was refused. The agent continues without checks.
			require.Empty(t, tool.Violation(json.RawMessage(schema), `{"p":1,"a/b":1,"a b":1}`))
			_, err := tool.New(tool.Spec{Name: "x", Schema: json.RawMessage(schema)}, func(context.Context, json.RawMessage) (tool.Result, error) {
				return tool.Result{}, nil
			})
			require.ErrorAs(t, err, &refused)
		})
	}
}

func TestSchemaThatEndsIsNotRefused(t *testing.T) {
	const tree = `{"type":"object","properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#"}}},"required":["name"]}`
	for name, schema := range map[string]string{
		"a tree":         tree,
		"its own schema": `{"$ref":"#/$defs/a","$defs":{"a":{"properties":{"next":{"anyOf":[{"$ref":"#/$defs/a"},{"type":"null"}]}}}}}`,
		"wide":           `{"oneOf":[` + strings.TrimSuffix(strings.Repeat(`{"const":1},`, 2000), ",") + `]}`,
		"doubling a bit": doubling(8, `{"allOf":[NEXT,NEXT]}`),
		"unknown draft":  `{"$schema":"https://example.com/mine","$ref":"#"}`,
	} {
		t.Run(name, func(t *testing.T) { require.NoError(t, tool.CheckSchema(json.RawMessage(schema))) })
	}
	require.Empty(t, tool.Violation(json.RawMessage(tree), `{"name":"a","children":[{"name":"b","children":[{"name":"c"}]}]}`))
	require.Contains(t, tool.Violation(json.RawMessage(tree), `{"name":"a","children":[{"name":"b","children":[{"nam":"c"}]}]}`), "name")
	// A large value is validated if each part of it is checked only once.
	large := `[` + strings.TrimSuffix(strings.Repeat(`{"name":"x"},`, 50_000), ",") + `]`
	require.Empty(t, tool.Violation(json.RawMessage(`{"type":"array","items":`+tree+`}`), large))
}

func TestAttackValidationIsBounded(t *testing.T) {
	// Each level of the value doubles the checks.
	branching := `{"properties":{"a":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}}`
	nested := func(n int) string { return strings.Repeat(`{"a":`, n) + `1` + strings.Repeat(`}`, n) }
	for name, c := range map[string]struct{ schema, value string }{
		"branching":        {branching, nested(60)},
		"deep":             {`{"properties":{"a":{"$ref":"#"}}}`, nested(9000)},
		"pattern":          {`{"type":"string","pattern":"(x{1,30}){1,30}y$"}`, `"` + strings.Repeat("x", 1<<20) + `"`},
		"joined errors":    {`{"anyOf":[` + strings.TrimSuffix(strings.Repeat(`{"type":"string"},`, 5000), ",") + `]}`, `["` + strings.Repeat("x", 1<<20) + `"]`},
		"carried errors":   {strings.Repeat(`{"anyOf":[`, 45) + `{"type":"string"}` + strings.Repeat(`]}`, 45), `["` + strings.Repeat("x", 3<<20) + `"]`},
		"many properties":  {`{"items":{"properties":{` + strings.TrimSuffix(manyProperties(5000), ",") + `}}}`, `[` + strings.TrimSuffix(strings.Repeat(`{},`, 200_000), ",") + `]`},
		"pattern of names": {`{"patternProperties":{"(x{1,30}){1,30}y$":{}}}`, `{"` + strings.Repeat("x", 1<<20) + `":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, tool.CheckSchema(json.RawMessage(c.schema)))
			require.Contains(t, tool.Violation(json.RawMessage(c.schema), c.value), "too large or too deeply nested")
		})
	}
}

func manyProperties(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"property-%d":{},`, i)
	}
	return b.String()
}
