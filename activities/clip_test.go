package activities_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/payload"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// A gateway that stores the model's signature in the ID of a tool call needs the whole ID in later requests.
func TestLongIDOfACallIsKept(t *testing.T) {
	id := strings.Repeat("s", 10<<10)
	s := newStage(t, llmtest.Script(llmtest.Call(llmtest.ToolCall(id, "read", "{}"))))
	s.say(llm.User, "hello")
	got, err := s.ask(s.input(1))
	require.NoError(t, err)
	require.Equal(t, id, got.Message.ToolCalls[0].ID)
}

// If a field of a reply does not fit into a payload, the field is cut. The reply, which was paid for, is not lost.
func TestAttackReplyWithLongFields(t *testing.T) {
	long := strings.Repeat("é\"", 1<<20)
	call := func(id, name, arguments string) llm.Reply { return llmtest.Call(llmtest.ToolCall(id, name, arguments)) }
	many := llm.Reply{}
	for i := range 4000 {
		many.Message.ToolCalls = append(many.Message.ToolCalls, llmtest.ToolCall(fmt.Sprint(i), "read", `{"a":"`+strings.Repeat("a", 1000)+`"}`))
	}
	signed := llm.Reply{}
	for i := range 200 {
		signed.Message.ToolCalls = append(signed.Message.ToolCalls, llmtest.ToolCall(fmt.Sprint(i, strings.Repeat("s", 16_000)), "read", `{"a":"`+strings.Repeat("a", 3000)+`"}`))
	}
	finished, named := llmtest.Say("hello"), llmtest.Say("hello")
	finished.FinishReason, named.Model = long, long
	repaired := llmtest.Say("hello")
	for range 10_000 {
		repaired.Repaired = append(repaired.Repaired, strings.Repeat("a repair ", 100))
	}
	parts := llmtest.Say("hello")
	parts.Message.Parts = []llm.Part{{Type: "image", URL: long}}
	for name, c := range map[string]struct {
		reply llm.Reply
		calls int
	}{
		"finish_reason":      {reply: finished},
		"model":              {reply: named},
		"call ID":            {call(long, "read", "{}"), 1},
		"tool's name":        {call("1", long, "{}"), 1},
		"repairs":            {reply: repaired},
		"images":             {reply: parts},
		"thousands of calls": {many, 700},
		"long IDs":           {signed, 40},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, llmtest.Script(c.reply))
			s.say(llm.User, "hello")
			got, err := s.ask(s.input(1))
			require.NoError(t, err)
			require.Less(t, payload.Size(got), 1_100_000)
			require.GreaterOrEqual(t, len(got.Message.ToolCalls), c.calls)
			if c.calls == 0 {
				require.Equal(t, "hello", got.Message.Content)
			}
			for _, text := range append(got.Repaired, got.FinishReason, got.Model) {
				require.True(t, utf8.ValidString(text))
				require.LessOrEqual(t, len(text), 300)
			}
		})
	}
}

// Temporal rejects a failure with a text that is not UTF-8, and would retry the attempt for ever.
func TestAttackErrorThatIsNoText(t *testing.T) {
	for _, text := range []string{"\xff\xfe", strings.Repeat("é", 5000), "a" + strings.Repeat("é", 5000)} {
		s := newStage(t, llmtest.Func(func(context.Context, llm.Request) (llm.Reply, error) {
			return llm.Reply{}, &llm.Error{Class: llm.InvalidRequest, Message: text}
		}))
		s.say(llm.User, "hello")
		_, err := s.ask(s.input(1))
		require.True(t, utf8.ValidString(failure(t, err).Message()))
		require.Less(t, len(failure(t, err).Message()), 2100)
	}
}
