package history_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// The history of an agent grows linearly with the conversation. With results of 4 KB, a turn adds at most 2 % more
// bytes after 50 turns than before, and at most 9,000 bytes.
func TestHistoryGrowsLinearly(t *testing.T) {
	t.Parallel()
	tools := world.NewToolServer(t)
	tools.Add("read", world.ReadOnly, func(context.Context, world.Effect) (string, error) {
		return strings.Repeat("0123456789abcde\n", 256), nil
	})
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		var turns int
		_, err := fmt.Sscan(req.Messages[0].Content, &turns)
		if n := world.Asked(req); err == nil && n < turns {
			return llmtest.Call(llmtest.ToolCall(fmt.Sprint("c", n), "read", fmt.Sprintf(`{"page":%d}`, n))), nil
		}
		return llmtest.Say("read"), err
	}, tools, "    limits: {model_calls: 1000}\n")
	w.Worker()
	size := func(turns int) (bytes, events int64) {
		id := fmt.Sprint(t.Name(), turns)
		w.Must("run", "--detach", "--id", id, "--", fmt.Sprint(turns, " turns"))
		w.Finished(id, "read")
		require.Len(t, w.Show(id).Messages, 2+2*turns)
		return historySize(t, id)
	}
	bytes0, _ := size(0)
	bytes50, events50 := size(50)
	bytes200, events200 := size(200)
	early, late := (bytes50-bytes0)/50, (bytes200-bytes50)/150
	t.Logf("bytes a turn: %d in the first 50, %d in the next 150; %.1f events a turn; %d bytes at 200 turns",
		early, late, float64(events200-events50)/150, bytes200)
	require.Less(t, early, int64(9000), "a history that grows faster is continued in a new run, which is not measured")
	require.LessOrEqual(t, float64(late), 1.02*float64(early))
	require.Less(t, late, int64(9000), "a result of 4 KB crosses history once")
}

func TestSchemasAndInstructionsCrossHistoryOnce(t *testing.T) {
	t.Parallel()
	tools := world.NewToolServer(t)
	size := 0
	for i := range 40 {
		schema := fmt.Sprintf(`{"type":"object","properties":{"a":{"type":"string","description":%q}}}`, strings.Repeat("word ", 1000))
		size += len(schema)
		tools.AddSpec(&mcp.Tool{Name: fmt.Sprint("read", i), InputSchema: json.RawMessage(schema), Annotations: world.ReadOnly}, world.Echo)
	}
	require.Greater(t, size, 200_000)
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		if n := world.Asked(req); n < 20 {
			return llmtest.Call(llmtest.ToolCall("c", "read1", fmt.Sprintf(`{"a":"%d"}`, n))), nil
		}
		return llmtest.Say("read"), nil
	}, tools, "    instructions: "+strings.Repeat("Be good. ", 2000)+"\n")
	first := w.Worker()
	w.Must("run", "--detach", "--id", t.Name(), "read")
	w.Eventually("some turns", func() bool { return len(w.Requests()) > 5 })
	first.Kill() // the next worker has an empty cache
	w.Worker()
	w.Finished(t.Name(), "read")
	bytes, _ := historySize(t, t.Name())
	t.Logf("%d bytes of schemas and instructions, 20 turns: %d bytes of history", size+18_000, bytes)
	require.Less(t, bytes, int64(size)+18_000+120_000)
	for _, r := range w.Model.Requests() {
		require.Len(t, r.Request.Tools, 40)
	}
}

// historySize returns the size in bytes of the history of an agent's newest run, and the number of its events.
func historySize(t testing.TB, id string) (bytes, events int64) {
	found, err := world.Temporal.DescribeWorkflowExecution(t.Context(), id, "")
	require.NoError(t, err)
	info := found.GetWorkflowExecutionInfo()
	return info.GetHistorySizeBytes(), info.GetHistoryLength()
}
