package progress

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
)

// The time of a model call counts from the newest message before it, and that of a tool call from the reply that asked for it. Calls of one
// reply run at the same time. What lies before the start of the run does not count.
func TestClockMeasuresEachStep(t *testing.T) {
	call := func(id string) llm.ToolCall { return llm.ToolCall{ID: id, Name: "look" + id} }
	messages := []agent.Message{
		{Message: llm.Message{Role: llm.User}, Time: 10_000},
		{Message: llm.Message{Role: llm.Assistant, ToolCalls: []llm.ToolCall{call("1"), call("2")}}, Time: 12_000},
		{Message: llm.Message{Role: llm.Tool, ToolCallID: "1"}, Time: 17_000},
		{Message: llm.Message{Role: llm.Tool, ToolCallID: "2"}, Time: 13_000},
		{Message: llm.Message{Role: llm.Assistant, Content: "done"}, Time: 20_000},
		{Message: llm.Message{Role: llm.Assistant, Content: "stopped"}, Notice: true, Time: 21_000},
	}
	took := func(c Clock) (all []int) {
		for _, m := range messages {
			all = append(all, int(c.Took(m).Seconds()))
		}
		return all
	}
	require.Equal(t, []int{0, 2, 5, 1, 3, 0}, took(Clock{}))
	require.Equal(t, []int{0, 2, 5, 1, 1, 0}, took(Clock{Started: time.UnixMilli(19_000)}))

	var out bytes.Buffer
	p := NewTranscript(&out, func(text string) string { return text })
	p.Models = true
	for _, m := range messages[1:5] {
		p.Message(m)
	}
	require.Equal(t, "  look1 \n  look2 \n  look1 →  (5.0 s)\n  look2 →  (1.0 s)\ndone\n  model (3.0 s)\n", out.String())
}
