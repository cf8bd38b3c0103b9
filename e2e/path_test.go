package e2e_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// asked returns how many assistant messages a request has, by which the scripted models choose their reply.
func asked(req llm.Request) int {
	n := 0
	for _, m := range req.Messages {
		if m.Role == llm.Assistant {
			n++
		}
	}
	return n
}

// script answers with the replies in order.
func script(replies ...llm.Reply) func(context.Context, llm.Request) (llm.Reply, error) {
	return llmtest.Script(replies...).Complete
}

func TestTaskRunsFromTheCommandLineToTheToolsAndBack(t *testing.T) {
	tools := newToolServer(t)
	tools.add("read", readOnly, echo)
	tools.add("pay", nil, echo)
	w := newWorld(t, script(
		llmtest.Call(llmtest.ToolCall("a", "read", `{"n":1}`), llmtest.ToolCall("b", "pay", `{"n":9007199254740993}`), llmtest.ToolCall("c", "read", `{"n":1}`)),
		llmtest.Say("All done."),
	), tools, "    instructions: |\n      Be brief.\n")
	w.worker()
	out, errs, code := w.starter("run", "--id", t.Name(), "--", "--pay", "them")
	require.Equal(t, 0, code, out+errs)
	require.Contains(t, out, "> --pay them\n")
	require.Contains(t, out, "All done.\n")

	s := w.show(t.Name())
	require.Equal(t, "completed", s.Status)
	require.Equal(t, "All done.", s.Result)
	require.Equal(t, []string{
		"user: --pay them",
		`assistant: [read {"n":1}][pay {"n":9007199254740993}][read {"n":1}]`,
		`tool: did {"n":1}`, `tool: did {"n":9007199254740993}`, `tool: did {"n":1}`,
		"assistant: All done.",
	}, s.lines())
	require.Equal(t, 2, s.Usage["model_calls"])
	require.Equal(t, 3, s.Usage["tool_calls"])
	require.Len(t, w.requests(), 2)
	require.Len(t, tools.effects(), 3, "each call has a key of its own")
	first := w.model.Requests()[0].Request
	require.Equal(t, []llm.Message{{Role: llm.System, Content: "Be brief.\n"}, {Role: llm.User, Content: "--pay them"}}, first.Messages)
}

func TestChatGoesOnFromMessageToMessage(t *testing.T) {
	w := newWorld(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		return llmtest.Say(fmt.Sprint("reply ", asked(req)+1)), nil
	}, nil, "")
	w.worker()
	w.must("run", "--chat", "--id", t.Name(), "hello")
	require.Equal(t, "waiting", w.show(t.Name()).Status)
	require.Equal(t, "reply 2\n", w.must("send", t.Name(), "and", "then?"))
	require.Equal(t, "reply 3\n", w.must("send", t.Name(), "--", "-x"))
	w.must("close", t.Name())
	w.eventually("the agent ends", func() bool { return w.show(t.Name()).Status == "completed" })
	require.Equal(t, []string{
		"user: hello", "assistant: reply 1", "user: and then?", "assistant: reply 2", "user: -x", "assistant: reply 3",
	}, w.show(t.Name()).lines())
	_, errs, code := w.starter("send", t.Name(), "too late")
	require.Equal(t, 4, code)
	require.Contains(t, errs, "has ended")
}
