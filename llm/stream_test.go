package llm_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
)

func TestStreamIsTheFunctionOfTheContext(t *testing.T) {
	t.Parallel()

	var got []llm.Delta
	ctx := llm.WithStream(t.Context(), func(d llm.Delta) { got = append(got, d) })
	type other struct{}
	llm.Stream(context.WithValue(ctx, other{}, 1))(llm.Delta{Text: "a"})
	require.Equal(t, []llm.Delta{{Text: "a"}}, got)

	llm.Stream(llm.WithStream(ctx, nil))(llm.Delta{Text: "b"})
	llm.Stream(t.Context())(llm.Delta{Text: "c"})
	require.Len(t, got, 1, "nobody listens")
}
