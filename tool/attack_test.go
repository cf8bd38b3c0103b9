package tool_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/tool"
)

// Package encoding/json also matches names that differ in case, and takes the last one. So arguments with both names would let a tool
// run with another value than a person reads. The schema refuses them.
func TestAttackNamesThatDifferInCase(t *testing.T) {
	t.Parallel()
	ran := []int{}
	pay := tool.MustFunc("pay", "pays", tool.AtMostOnce, func(_ context.Context, in struct {
		N int `json:"n"`
	},
	) (string, error) {
		ran = append(ran, in.N)
		return "paid", nil
	})
	for _, arguments := range []string{`{"n":1,"N":1000}`, `{"N":1000,"n":1}`, `{"N":1000}`, `{"n":1,"\u004e":1000}`} {
		result, err := tool.Run(t.Context(), pay, arguments)
		require.NoError(t, err)
		require.True(t, result.IsError, arguments)
	}
	result, err := tool.Run(t.Context(), pay, `{"n":1}`)
	require.NoError(t, err)
	require.False(t, result.IsError)
	require.Equal(t, []int{1}, ran)
}

// Package encoding/json takes a long s for an s, and the Kelvin sign for a k.
func TestAttackNamesWithLettersThatFold(t *testing.T) {
	t.Parallel()
	pay := tool.MustFunc("pay", "pays", tool.AtMostOnce, func(_ context.Context, in struct {
		Sum  int `json:"sum"`
		Bank struct {
			Link string `json:"link,omitempty"`
		} `json:"bank,omitzero"`
	},
	) (string, error) {
		return "paid", nil
	})
	for _, arguments := range []string{`{"sum":1,"ſum":2}`, `{"sum":1,"\u017fum":2}`, `{"ſum":2}`, `{"sum":1,"banK":{}}`, `{"sum":1,"bank":{"lin\u212a":"x"}}`} {
		result, err := tool.Run(t.Context(), pay, arguments)
		require.NoError(t, err)
		require.True(t, result.IsError, arguments)
	}
	result, err := tool.Run(t.Context(), pay, `{"sum":1,"bank":{"link":"x"}}`)
	require.NoError(t, err)
	require.False(t, result.IsError, result.Content)
}

// A program may call a tool without [tool.Run], which checks the schema.
func TestAttackNamesAreReadExactlyWithoutASchema(t *testing.T) {
	t.Parallel()
	pay := tool.MustFunc("pay", "pays", tool.AtMostOnce, func(_ context.Context, in struct {
		Sum int `json:"sum"`
	},
	) (string, error) {
		return "paid", nil
	})
	for _, arguments := range []string{`{"sum":1,"SUM":2}`, `{"\u017fum":2}`, `{"sum":1,"sum":2}`} {
		result, err := pay.Call(t.Context(), json.RawMessage(arguments))
		require.NoError(t, err)
		require.True(t, result.IsError, arguments)
	}
	result, err := pay.Call(t.Context(), json.RawMessage(`{"sum":1}`))
	require.NoError(t, err)
	require.Equal(t, "paid", result.Content)
}

// What a function's own type refuses is told in words that a model knows.
func TestArgumentThatDoesNotFitIsToldWithoutTypesOfGo(t *testing.T) {
	t.Parallel()
	pay := tool.MustFunc("pay", "pays", tool.AtMostOnce, func(_ context.Context, in struct {
		N int8 `json:"n"`
	},
	) (string, error) {
		return "paid", nil
	})
	result, err := pay.Call(t.Context(), json.RawMessage(`{"n":1000}`))
	require.NoError(t, err)
	require.True(t, result.IsError)
	require.Contains(t, result.Content, `the field "n" must be a whole number from -128 to 127, not 1000`)
	require.NotContains(t, result.Content, "Go ")
}
