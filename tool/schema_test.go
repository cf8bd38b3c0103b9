package tool_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/tool"
)

// An author hears of a schema against which no value could be checked, or that no value could match. A schema of a server is used as it is.
func TestAuthorHearsOfASchemaThatChecksNothing(t *testing.T) {
	for schema, want := range map[string]string{
		``:                                      "",
		`{}`:                                    "",
		`{"type":["string","null"]}`:            "",
		`{"properties":{"n":{"$ref":"#"}}}`:     "",
		`{"properties":{"n":{"type":"numbr"}}}`: `its subschema "/properties/n" has the type "numbr"; write one of array, boolean,`,
		`{"properties":5}`:                      `the field "properties" must be an object, not a number`,
		`{"pattern":"["}`:                       "missing closing ]",
		`{"$ref":"#/none"}`:                     `the target of the $ref "#/none" does not exist`,
		`{"$schema":"https://json-schema.org/draft/2019-09/schema"}`: "use draft 2020-12 or draft-07",
	} {
		err := tool.CanCheck(json.RawMessage(schema))
		require.NoError(t, tool.CheckSchema(json.RawMessage(schema)), schema)
		if want == "" {
			require.NoError(t, err, schema)
		} else {
			require.ErrorContains(t, err, want)
		}
	}
	var refused *tool.SchemaError
	require.ErrorAs(t, tool.CanCheck(json.RawMessage(`{"$ref":"#"}`)), &refused)
}
