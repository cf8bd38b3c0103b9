package tool_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/tool"
)

// A tool that refuses each call that a guardrail gets is no guardrail, and one that takes them is. The check says what [tool.Run] does.
func TestToolThatCannotBeCalledAsAGuardrail(t *testing.T) {
	for schema, want := range map[string]string{
		``: "", `{}`: "", `{"type":"object"}`: "", `{"properties":{"x":{"type":"integer"}}}`: "",
		`{"properties":{"kind":{"enum":["message","answer"]},"text":{"type":["null","string"]}},"required":["kind","text"],"additionalProperties":false}`: "",
		`{"properties":{"text":{"$ref":"#/$defs/t"}},"$defs":{"t":{"type":"string"}}}`:                                                                    "",
		`{"properties":{"text":{"anyOf":[{"type":"string"}]}}}`:                                                                                           "",
		`{"patternProperties":{"^t|^k":{}},"additionalProperties":false}`:                                                                                 "",

		`{"required":["text","user"]}`:                                                              `it requires the argument "user", and a guardrail gets only kind and text; make the argument optional, or remove it`,
		`{"properties":{"text":{"type":"array"}}}`:                                                  `its argument "text" has the type array, and a guardrail gets a text; make it a string`,
		`{"properties":{"text":{"$ref":"#/$defs/t"}},"$defs":{"t":{"type":["null","object"]}}}`:     `its argument "text" has the type null or object, and a guardrail gets a text; make it a string`,
		`{"properties":{"text":{"type":"string"}},"additionalProperties":false}`:                    `it takes no argument "kind", and a guardrail gets kind and text; add the argument as a string`,
		`{"properties":{"kind":{"const":"answer"}}}`:                                                `its argument "kind" does not allow "message", which it would get here; add the value`,
		`{"properties":{"kind":{"type":"string","enum":["answer"]},"text":{}},"required":["kind"]}`: `its argument "kind" does not allow "message", which it would get here; add the value`,
	} {
		called, err := tool.New(tool.Spec{Name: "judge", Schema: json.RawMessage(schema)}, func(context.Context, json.RawMessage) (tool.Result, error) {
			return tool.Result{Content: `{"action":"allow"}`}, nil
		})
		require.NoError(t, err)
		_, refused := tool.Judge(t.Context(), called, tool.JudgedText{Kind: "message", Text: "hello"})
		if want == "" {
			require.NoError(t, tool.CanJudge(called.Spec().Schema, "message"), schema)
			require.NoError(t, refused, schema)
			continue
		}
		require.EqualError(t, tool.CanJudge(called.Spec().Schema, "message"), want, schema)
		require.Error(t, refused, schema)
	}
	require.NoError(t, tool.CanJudge(tool.MustGuardrail("own", "", func(context.Context, tool.JudgedText) (tool.Verdict, error) { return tool.Allow(), nil }).Spec().Schema, "answer"))
}
