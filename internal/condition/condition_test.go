package condition_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/condition"
)

// A condition that cannot be told is an error, so that a person is asked. Large whole numbers are compared exactly.
func TestConditionHoldsOrIsAnError(t *testing.T) {
	const large = "args.amount > 50"
	for _, c := range []struct{ condition, arguments, want string }{
		{large, `{"amount":51}`, "true"},
		{large, `{"amount":50.0}`, "false"},
		{large, `{"amount":50.5}`, "true"},
		{large, `{"amount":"1000"}`, "error"},
		{large, `{"amount":null}`, "error"},
		{large, `{}`, "error"},
		{large, ``, "error"},
		{large, `{"amount":1e999}`, "error"},
		{large, `{"amount":99999999999999999999}`, "error"},
		{large, `[]`, "error"},
		{large, `{"amount":1,"pad":"` + strings.Repeat("x", 70_000) + `"}`, "error"},
		{"args.amount > 9007199254740992", `{"amount":9007199254740993}`, "true"},
		{"args.paid", `{"paid":1}`, "error"},
		{`args.to not in ["anna", "bert"]`, `{"to":"carl"}`, "true"},
		{`any(args.items, .price > 10)`, `{"items":[{"price":1},{"price":11}]}`, "true"},
		{`args.path matches "^/tmp/"`, `{"path":"/etc"}`, "false"},
		{`len(map(1..args.n, # * 2)) > 1`, `{"n":1000000000}`, "error"},
	} {
		parsed, err := condition.Parse(c.condition)
		require.NoError(t, err, c.condition)
		holds, err := parsed.Holds(c.arguments)
		got := map[bool]string{true: "true", false: "false"}[holds]
		if err != nil {
			require.False(t, holds)
			got = "error"
		}
		require.Equal(t, c.want, got, "%s for %.50s", c.condition, c.arguments)
	}
}

func TestConditionIsCheckedBeforeItIsUsed(t *testing.T) {
	for text, problem := range map[string]string{
		"args.amount >":                          "is not a condition: ",
		"amount > 50":                            "is not a condition: unknown name amount",
		"50":                                     "is not a condition: expected bool, but got int",
		"":                                       "is not a condition: ",
		"all(args.a, all(args.b, # > 1))":        "a loop in a loop could take too long",
		"args.a matches args.b":                  "the pattern after matches must be a text",
		`args.a == "` + strings.Repeat("x", 300): "has 311 bytes; the limit is 300",
		strings.Repeat("args.a+", 60) + "1 > 100": "has 427 bytes",
	} {
		_, err := condition.Parse(text)
		require.ErrorContains(t, err, problem, text)
	}
}
