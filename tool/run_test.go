package tool_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/tool"
)

// echo returns a tool with the given schema. The result of the tool is the text of its arguments.
func echo(t *testing.T, schema string) tool.Tool {
	t.Helper()
	tl, err := tool.New(tool.Spec{Name: "echo", Schema: json.RawMessage(schema)}, func(_ context.Context, args json.RawMessage) (tool.Result, error) {
		return tool.Result{Content: string(args)}, nil
	})
	require.NoError(t, err)
	return tl
}

const personSchema = `{
	"type": "object",
	"properties": {
		"name": {"type": "string"},
		"age": {"type": "integer", "maximum": 9007199254740992},
		"pets": {"type": "array", "items": {"$ref": "#/$defs/pet"}},
		"home": {"type": "object", "properties": {"zip": {"type": "string", "pattern": "^[0-9]+$"}}}
	},
	"$defs": {"pet": {"type": "object", "properties": {"kind": {"enum": ["cat", "dog"]}}}},
	"required": ["name"],
	"additionalProperties": false
}`

func TestArgumentsAreCheckedBeforeTheToolRuns(t *testing.T) {
	person := echo(t, personSchema)
	for args, want := range map[string]string{
		``:                                     `missing properties: ["name"]`,
		`{`:                                    "not valid JSON: they end too early",
		`{"name": "a"} x`:                      "text follows",
		`[1]`:                                  "must be a JSON object",
		`null`:                                 "must be a JSON object",
		`{"name": 3}`:                          `"name": type: 3 has type "integer", want "string"`,
		`{"name": "a", "nome": 1}`:             `["nome"]`,
		`{"name": "a", "age": 1.5}`:            `"age": type`,
		`{"name": "a", "age": "1"}`:            `"age": type`,
		`{"name": "a", "age": 1e999}`:          `"age": maximum`,
		`{"name":"a","home":{"zip":"x"}}`:      `"home.zip": pattern`,
		`{"name":"a","pets":[{"kind":"cow"}]}`: `"kind": enum: cow does not equal any of: [cat dog]`,
		`{"name":"a","age":9007199254740993}`:  `"age": maximum`,
	} {
		t.Run(args, func(t *testing.T) {
			res := call(t, person, args)
			require.True(t, res.IsError, res.Content)
			require.Contains(t, res.Content, want)
			require.Contains(t, res.Content, "echo")
			require.Contains(t, res.Content, "correct them and call again")
			require.NotContains(t, res.Content, "validating")
		})
	}
}

func TestArgumentsReachTheToolAsWritten(t *testing.T) {
	for args, want := range map[string]string{
		``:                             `{}`,
		" {\"n\": 9007199254740993} ":  `{"n": 9007199254740993}`,
		`{"b": 1.50, "a": "<\u0041>"}`: `{"b": 1.50, "a": "<\u0041>"}`,
	} {
		require.Equal(t, tool.Result{Content: want}, call(t, echo(t, `{"type":"object"}`), args))
	}
	tl := tool.MustFunc("order", "", "", func(_ context.Context, in orderIn) (any, error) { return in.ID, nil })
	require.Equal(t, "9007199254740993", call(t, tl, `{"id": 9007199254740993}`).Content)
}

func TestViolationTextIsBounded(t *testing.T) {
	res := call(t, echo(t, personSchema), `{"name": ["`+strings.Repeat("x", 1<<20)+`"]}`)
	require.True(t, res.IsError)
	require.Less(t, len(res.Content), 1500)
	require.Contains(t, res.Content, `"name"`)
}

func TestSchemaThatCannotBeCheckedDoesNotStopTheTool(t *testing.T) {
	for name, schema := range map[string]string{
		"none":          "",
		"other draft":   `{"$schema": "https://json-schema.org/draft/2019-09/schema", "type": "object", "required": ["x"]}`,
		"remote ref":    `{"type": "object", "properties": {"a": {"$ref": "https://example.com/a.json"}}}`,
		"dangling ref":  `{"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}}`,
		"ECMA pattern":  `{"type": "object", "properties": {"a": {"type": "string", "pattern": "(?=x)"}}}`,
		"wrong keyword": `{"type": "object", "properties": 5}`,
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tool.Result{Content: `{"a":1}`}, call(t, echo(t, schema), `{"a":1}`))
		})
	}
}

func TestOlderDraftIsChecked(t *testing.T) {
	for _, draft := range []string{"http://json-schema.org/draft-07/schema#", "http://json-schema.org/draft-07/schema"} {
		res := call(t, echo(t, `{"$schema": "`+draft+`", "type": "object", "required": ["x"]}`), `{}`)
		require.True(t, res.IsError)
	}
}

func TestRunIsSafeForConcurrentUse(t *testing.T) {
	person := echo(t, strings.Replace(personSchema, "cat", "bird", 1)) // a schema that is not in the cache yet
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			res, err := tool.Run(t.Context(), person, `{"name": 1}`)
			if err != nil || !res.IsError {
				t.Errorf("got %v, %v", res, err)
			}
		})
	}
	wg.Wait()
}
