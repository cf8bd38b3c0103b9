package repair_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/repair"
)

func TestFitLeavesOutWhatIsTooLong(t *testing.T) {
	t.Parallel()
	const limit = 10_000
	for name, unit := range map[string]string{"plain": "x", "wide": "日", "escaped": "\x00", "quotes": `"`} {
		long := strings.Repeat(unit, 50_000)
		given := llm.Reply{Message: llm.Message{Role: llm.Assistant, Content: "head" + long, Reasoning: long, ToolCalls: []llm.ToolCall{
			{ID: "1", Name: "write_file", Arguments: `{"content":"` + long + `"}`},
			{ID: "2", Name: "list_files", Arguments: `{}`},
		}}}
		before := given.Message.ToolCalls[0].Arguments

		got := repair.Fit(given, limit)

		encoded, err := json.Marshal(got)
		require.NoError(t, err)
		require.LessOrEqual(t, len(encoded), limit, name)
		require.Greater(t, len(encoded), limit/2, "%s: no more than need be", name)
		require.True(t, utf8.ValidString(got.Message.Content))
		require.True(t, strings.HasPrefix(got.Message.Content, "head"))
		require.Contains(t, got.Message.Content, "bytes left out]")
		require.False(t, strings.HasPrefix(got.Message.ToolCalls[0].Arguments, "{"), "a call without its arguments is not run")
		require.Equal(t, `{}`, got.Message.ToolCalls[1].Arguments)
		require.Len(t, got.Repaired, 3)
		require.Equal(t, before, given.Message.ToolCalls[0].Arguments, "the given reply is left alone")
	}
}

// The texts that say what was left out count, too.
func TestFitCountsItsOwnNotes(t *testing.T) {
	t.Parallel()
	given := llm.Reply{Message: llm.Message{Role: llm.Assistant}}
	for range 4 {
		given.Message.ToolCalls = append(given.Message.ToolCalls, llm.ToolCall{ID: "1", Name: "write", Arguments: `{"content":"` + strings.Repeat("x", 1200) + `"}`})
	}
	for limit := 2000; limit < 6000; limit++ {
		encoded, err := json.Marshal(repair.Fit(given, limit))
		require.NoError(t, err)
		require.LessOrEqual(t, len(encoded), limit)
	}
}

func TestFitLeavesWhatFits(t *testing.T) {
	t.Parallel()
	given := llm.Reply{Message: llm.Message{Role: llm.Assistant, Content: "Sunny.", Reasoning: "hm"}}
	require.Equal(t, given, repair.Fit(given, 10_000))
}
