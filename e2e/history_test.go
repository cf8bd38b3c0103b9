package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// History grows with the conversation and not with its square: a turn costs as
// much when 200 have gone before as when there were 50, with a result of 4 KB
// each. Instructions and tool schemas cross history once.
func TestHistoryGrowsLinearly(t *testing.T) {
	t.Parallel()
	tools := newToolServer(t)
	tools.add("read", readOnly, func(context.Context, effect) (string, error) { return strings.Repeat("0123456789abcde\n", 256), nil })
	w := newWorld(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		var turns int
		_, err := fmt.Sscan(req.Messages[0].Content, &turns)
		if n := asked(req); err == nil && n < turns {
			return llmtest.Call(llmtest.ToolCall(fmt.Sprint("c", n), "read", fmt.Sprintf(`{"page":%d}`, n))), nil
		}
		return llmtest.Say("read"), err
	}, tools, "    limits: {model_calls: 1000}\n")
	w.worker()
	size := func(turns int) (bytes, events int64) {
		id := fmt.Sprint(t.Name(), turns)
		w.must("run", "--detach", "--id", id, "--", fmt.Sprint(turns, " turns"))
		w.finished(id, "read")
		require.Len(t, w.show(id).Messages, 2+2*turns)
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
	tools := newToolServer(t)
	size := 0
	for i := range 40 {
		schema := fmt.Sprintf(`{"type":"object","properties":{"a":{"type":"string","description":%q}}}`, strings.Repeat("word ", 1000))
		size += len(schema)
		tools.addSpec(&mcp.Tool{Name: fmt.Sprint("read", i), InputSchema: json.RawMessage(schema), Annotations: readOnly}, echo)
	}
	require.Greater(t, size, 200_000)
	w := newWorld(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		if n := asked(req); n < 20 {
			return llmtest.Call(llmtest.ToolCall("c", "read1", fmt.Sprintf(`{"a":"%d"}`, n))), nil
		}
		return llmtest.Say("read"), nil
	}, tools, "    instructions: "+strings.Repeat("Be good. ", 2000)+"\n")
	first := w.worker()
	w.must("run", "--detach", "--id", t.Name(), "read")
	w.eventually("some turns", func() bool { return len(w.requests()) > 5 })
	first.kill() // the next worker has nothing in its cache
	w.worker()
	w.finished(t.Name(), "read")
	bytes, _ := historySize(t, t.Name())
	t.Logf("%d bytes of schemas and instructions, 20 turns: %d bytes of history", size+18_000, bytes)
	require.Less(t, bytes, int64(size)+18_000+120_000)
	for _, r := range w.model.Requests() {
		require.Len(t, r.Request.Tools, 40)
	}
}
