package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/tool"
)

func ExampleGuardrail() {
	secrets, err := tool.Guardrail("secrets", "Keeps account numbers away from the model.",
		func(_ context.Context, t tool.JudgedText) (tool.Verdict, error) {
			switch {
			case strings.Contains(t.Text, "password"):
				return tool.Refuse("never send a password"), nil
			case strings.Contains(t.Text, "DE89 3704"):
				return tool.Change(strings.ReplaceAll(t.Text, "DE89 3704", "[account]")), nil
			case t.Kind == "answer" && strings.Contains(t.Text, "refund"):
				return tool.Ask("the answer promises a refund"), nil
			}
			return tool.Allow(), nil
		})
	if err != nil {
		panic(err)
	}

	for _, text := range []string{"Hello", "My password is x", "Pay DE89 3704"} {
		verdict, err := tool.Judge(context.Background(), secrets, tool.JudgedText{Kind: "message", Text: text})
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s: %q\n", verdict.Action, verdict.Text+verdict.Reason)
	}
	// Output:
	// allow: ""
	// refuse: "never send a password"
	// change: "Pay [account]"
}

// A guardrail that gives no verdict has failed, whatever the reason.
func TestGuardrailWithoutAVerdictHasFailed(t *testing.T) {
	returning := func(content string, isError bool) tool.Tool {
		made, err := tool.New(tool.Spec{Name: "judge"}, func(context.Context, json.RawMessage) (tool.Result, error) {
			return tool.Result{Content: content, IsError: isError}, nil
		})
		require.NoError(t, err)
		return made
	}
	strict, err := tool.New(tool.Spec{Name: "judge", Schema: json.RawMessage(`{"type":"object","required":["other"]}`)},
		func(context.Context, json.RawMessage) (tool.Result, error) {
			return tool.Result{Content: `{"action":"allow"}`}, nil
		})
	require.NoError(t, err)
	asks, err := tool.New(tool.Spec{Name: "judge"}, func(context.Context, json.RawMessage) (tool.Result, error) {
		return tool.Result{Content: `{"action":"allow"}`, Question: &tool.Question{Text: "may it?"}}, nil
	})
	require.NoError(t, err)
	for problem, guardrail := range map[string]tool.Tool{
		"it failed: no":           returning("no", true),
		"is not a verdict":        returning("fine", false),
		`it asks a person itself`: asks,
		"do not match the schema": strict,
		"the judge is ill": tool.MustGuardrail("judge", "", func(context.Context, tool.JudgedText) (tool.Verdict, error) {
			return tool.Verdict{}, errors.New("the judge is ill")
		}),
		"panic": tool.MustGuardrail("judge", "", func(context.Context, tool.JudgedText) (tool.Verdict, error) { panic("no") }),
	} {
		_, err := tool.Judge(t.Context(), guardrail, tool.JudgedText{Kind: "message", Text: "hello"})
		require.ErrorContains(t, err, problem)
	}
	_, err = tool.Guardrail("judge", "", nil)
	require.ErrorContains(t, err, "the function is nil")
	require.Panics(t, func() { tool.MustGuardrail("not a name", "", nil) })
}
