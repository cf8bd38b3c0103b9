package tool_test

import (
	"context"
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
