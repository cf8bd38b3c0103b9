package protocol_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/payload"
	"github.com/reagent-dev/reagent/internal/protocol"
)

// The results of any batch stay far below the 50 MB of history at which Temporal ends a workflow. Each result fits into
// a payload, even if a codec adds a third. If a result is plain text, history stores everything that the transcript
// shows of it.
func TestBatchOfResultsIsBounded(t *testing.T) {
	texts := map[string]string{
		"plain": strings.Repeat("0123456789 abcde\n", 1<<16), "markup": strings.Repeat("<a>", 1<<18), "no text": strings.Repeat("\x00", 1<<20),
	}
	for _, limit := range []int{0, 1000, 64 << 10, 1 << 20} {
		for _, calls := range []int{1, 2, 10, 60, 250, 2000} {
			for name, text := range texts {
				whole := max(limit, 1_000_000) // of an agent with read_result
				stored := protocol.Stored(text, whole, limit, calls)
				size := payload.Size(protocol.ToolResult{Content: stored})
				what := fmt.Sprint(calls, " results of ", name, " cut to ", limit)
				require.LessOrEqual(t, size*4/3, 2<<20-50_000, what)
				require.LessOrEqual(t, calls*(size-50), 24_000_000, what)
				if limit <= 64<<10 && calls <= 60 && name == "plain" {
					require.LessOrEqual(t, calls*(size-50), 8_000_000, what)
				}
				if limit <= 64<<10 && calls <= 250 && name == "plain" {
					require.GreaterOrEqual(t, len(stored), protocol.ShownBytes(limit)-300, what)
				}
			}
		}
	}
}

// The transcript shows a recalled result, which is cut already, in the same way as the whole result. So the next
// request is the same.
func TestRecalledResultIsShownAsTheWholeIs(t *testing.T) {
	const key = agent.Key("tool-0123456789abcdef0123456789abcdef")
	for _, limit := range []int{0, 50, 100, 150, 300, 1000, 64 << 10, 1 << 20} {
		for _, unit := range []string{"0123456789 abcde\n", "<a>", "\x00", "é", "\xff", "\"", "世"} {
			for _, n := range []int{0, 10, 99, 1000, 300_000} {
				whole := protocol.ToolResult{Content: strings.Repeat(unit, n)}
				want := protocol.ToolEvent(key, "read", whole, nil, limit, 0)
				shown := whole.Shown(key, limit)
				require.Equal(t, want, protocol.ToolEvent(key, "read", shown, nil, limit, 0), "%d × %q cut to %d", n, unit, limit)
				require.LessOrEqual(t, len(shown.Content), max(protocol.ShownBytes(limit), 100))
			}
		}
	}
	lost := protocol.LostTool()
	require.Equal(t, lost, lost.Shown(key, 100))
}
