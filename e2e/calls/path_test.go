package calls_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

func TestTaskRunsFromTheCommandLineToTheToolsAndBack(t *testing.T) {
	tools := world.NewToolServer(t)
	tools.Add("read", world.ReadOnly, world.Echo)
	tools.Add("pay", nil, world.Echo)
	w := world.New(t, world.Script(
		llmtest.Call(llmtest.ToolCall("a", "read", `{"n":1}`), llmtest.ToolCall("b", "pay", `{"n":9007199254740993}`), llmtest.ToolCall("c", "read", `{"n":1}`)),
		llmtest.Say("All done."),
	), tools, "    instructions: |\n      Be brief.\n")
	w.Worker()
	out, errs, code := w.Starter("run", "--id", t.Name(), "--", "--pay", "them")
	require.Equal(t, 0, code, out+errs)
	require.Contains(t, out, "> --pay them\n")
	require.Contains(t, out, "All done.\n")

	s := w.Show(t.Name())
	require.Equal(t, "completed", s.Status)
	require.Equal(t, "All done.", s.Answer)
	require.Equal(t, []string{
		"user: --pay them",
		`assistant: [read {"n":1}][pay {"n":9007199254740993}][read {"n":1}]`,
		`tool: did {"n":1}`, `tool: did {"n":9007199254740993}`, `tool: did {"n":1}`,
		"assistant: All done.",
	}, s.Lines())
	require.Equal(t, 2, s.Usage["model_calls"])
	require.Equal(t, 3, s.Usage["tool_calls"])
	require.Len(t, w.Requests(), 2)
	require.Len(t, tools.Effects(), 3, "each call has a key of its own")
	first := w.Model.Requests()[0].Request
	require.Equal(t, []llm.Message{{Role: llm.System, Content: "Be brief.\n"}, {Role: llm.User, Content: "--pay them"}}, first.Messages)
}

func TestChatGoesOnFromMessageToMessage(t *testing.T) {
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		return llmtest.Say(fmt.Sprint("reply ", world.Asked(req)+1)), nil
	}, nil, "")
	w.Worker()
	w.Must("run", "--chat", "--id", t.Name(), "hello")
	require.Equal(t, "waiting", w.Show(t.Name()).Status)
	require.Equal(t, "reply 2\n", w.Must("send", t.Name(), "and", "then?"))
	require.Equal(t, "reply 3\n", w.Must("send", t.Name(), "--", "-x"))
	w.Must("close", t.Name())
	w.Eventually("the agent ends", func() bool { return w.Show(t.Name()).Status == "completed" })
	require.Equal(t, []string{
		"user: hello", "assistant: reply 1", "user: and then?", "assistant: reply 2", "user: -x", "assistant: reply 3",
	}, w.Show(t.Name()).Lines())
	_, errs, code := w.Starter("send", t.Name(), "too late")
	require.Equal(t, 4, code)
	require.Contains(t, errs, "has ended")
}
