package compare

import (
	"bytes"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/llm"
)

// worked returns an agent that has called a sub-agent. The key distinguishes agents that do the same. Times are in seconds.
func worked(id, key, arguments, answer string, times ...int64) client.Snapshot {
	child := agent.Key("child-" + strings.Repeat(key, 32))
	messages := []agent.Message{
		{Message: llm.Message{Role: llm.User, Content: "go"}, Key: agent.Key("m" + key)},
		{Message: llm.Message{Role: llm.Assistant, ToolCalls: []llm.ToolCall{{ID: "c" + key, Name: "clerk", Arguments: arguments}}}},
		{Message: llm.Message{Role: llm.Tool, ToolCallID: "c" + key, Content: "started: " + child.Handle()}, Child: child},
		{Message: llm.Message{Role: llm.Assistant, Content: answer}},
	}
	for i := range messages {
		messages[i].Time = times[i] * 1000
	}
	return client.Snapshot{ID: id, Agent: "x", Status: client.Completed, Messages: messages, Count: 4, Answer: answer, Usage: agent.Usage{ModelCalls: 2, ToolCalls: 1}}
}

// Agents that said and called the same are the same, whatever their keys, handles, times and forms of JSON are.
func TestComparisonIgnoresWhatDiffersInAnyTwoAgents(t *testing.T) {
	a := worked("a", "1", `{"task": "x", "n": 1}`, "done", 1, 2, 5, 6)
	b := worked("b", "2", `{"n":1,"task":"x"}`, "done", 100, 103, 104, 109)
	c := Agents(a, b)
	require.Nil(t, c.A.Message)
	require.Nil(t, c.B.Message)
	require.Equal(t, 4, c.SameMessages)
	require.Equal(t, []object.Milliseconds{5000, 9000}, []object.Milliseconds{c.A.DurationMS, c.B.DurationMS})
	var out bytes.Buffer
	Print(&out, c, 0)
	require.Contains(t, out.String(), "Both said and called the same, in 4 messages.\n")
	require.Contains(t, out.String(), "Both have the same answer.\n")
}

func TestComparisonCountsInPlainEnglish(t *testing.T) {
	for n, want := range []string{"The first messages differ. Message 1:", "The first message is the same. Message 2:", "The first 2 messages are the same. Message 3:"} {
		var out bytes.Buffer
		Print(&out, object.Comparison{SameMessages: n, A: object.Side{Message: &object.Said{}}}, 0)
		require.Contains(t, out.String(), want)
	}
}

func TestComparisonFindsTheFirstDifference(t *testing.T) {
	a := worked("a", "1", `{"n":1}`, "done", 1, 2, 3, 4)
	for name, change := range map[string]struct {
		at     int
		change func(*client.Snapshot)
	}{
		"text":      {3, func(s *client.Snapshot) { s.Messages[3].Content = "Done" }},
		"arguments": {1, func(s *client.Snapshot) { s.Messages[1].ToolCalls[0].Arguments = `{"n":1.0}` }},
		"tool":      {1, func(s *client.Snapshot) { s.Messages[1].ToolCalls[0].Name = "other" }},
		"result":    {2, func(s *client.Snapshot) { s.Messages[2].Content = "failed" }},
		"image": {0, func(s *client.Snapshot) {
			s.Messages[0].Parts = []llm.Part{{Type: "image", URL: "https://example.com/a.png"}}
		}},
		"end": {3, func(s *client.Snapshot) { s.Messages = s.Messages[:3] }},
	} {
		b := worked("b", "2", `{"n":1}`, "done", 1, 2, 3, 4)
		change.change(&b)
		for _, c := range []object.Comparison{Agents(a, b), Agents(b, a)} {
			require.False(t, c.A.Message == nil && c.B.Message == nil, name)
			require.Equal(t, change.at, c.SameMessages, name)
		}
	}
}

// On a terminal, texts stand side by side within its width. Untrusted text controls no terminal. Of a long text, the part that differs is
// shown.
func TestAttackComparisonOfHostileTexts(t *testing.T) {
	long := strings.Repeat("the same words ", 1000)
	a := worked("a", "1", `{"n":1}`, long+"\x1b[2J日本語\tleft"+long, 1, 2, 3, 4)
	b := worked("b\u202e", "2", `{"n":1}`, long+"right\r\n"+long, 1, 2, 3, 4)
	for _, width := range []int{0, 60, 79, 200} {
		var out bytes.Buffer
		Print(&out, Agents(a, b), width)
		require.Equal(t, printable.Text(out.String()), out.String())
		require.Contains(t, out.String(), "left")
		require.Contains(t, out.String(), "right")
		require.Contains(t, out.String(), "more characters)")
		require.Less(t, out.Len(), 30_000)
		for line := range strings.SplitSeq(out.String(), "\n") {
			require.True(t, width == 0 || ansi.StringWidth(line) < width, "%d: %s", width, line)
		}
	}
}
