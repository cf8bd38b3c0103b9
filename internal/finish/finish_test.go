package finish

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
)

func TestEveryFinishReasonHasOneMeaning(t *testing.T) {
	t.Parallel()
	for reason, m := range meanings {
		require.Equal(t, strings.ToLower(reason), reason)
		require.NotEqual(t, m.class == "", !Cut(reason), reason)
		require.False(t, m.limited && m.paused, reason)
		class, message := Problem(strings.ToUpper(reason))
		require.Equal(t, m.class, class)
		require.Equal(t, class != "", strings.Contains(message, problems[class]) && message != "", reason)
	}
	for _, m := range meanings {
		require.True(t, m.class == "" || problems[m.class] != "", m.class)
	}
}

// A reply that ends in a way that nobody knows is used as it is.
func TestUnknownFinishReasonIsThatOfAWholeReply(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{"", "stop", "end_turn", "tool_calls", "null", "a word of a new provider", strings.Repeat("x", 1000) + " safety"} {
		require.False(t, AtLimit(reason) || Cut(reason), reason)
		require.Empty(t, Class(reason), reason)
	}
	require.Equal(t, llm.BadReply, Class("function_call_filter: MALFORMED_FUNCTION_CALL"))
}
