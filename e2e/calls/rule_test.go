package calls_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// A rule on the arguments decides once, when the reply comes. The decision holds on another worker with another rule, and after a reset.
func TestApprovalByArgumentsIsDecidedOnce(t *testing.T) {
	t.Parallel()
	tools := world.NewToolServer(t)
	tools.Add("pay", nil, world.Echo)
	w := world.New(t, world.Script(
		llmtest.Call(llmtest.ToolCall("1", "pay", `{"amount":50}`), llmtest.ToolCall("2", "pay", `{"amount":51}`), llmtest.ToolCall("3", "pay", `{"amount":"1"}`)),
		llmtest.Say("paid"),
	), tools, "    tools: [far.*]\n    approval: {far.pay: if args.amount > 50}\n")
	worker := w.Worker()
	id := t.Name()
	w.Must("run", "--chat", "--detach", "--id", id, "pay")
	w.Eventually("the small amount is paid", func() bool { return len(tools.Effects()) == 1 })
	waiting := inboxOf(w, id)
	require.Len(t, waiting, 2)
	require.JSONEq(t, `{"amount":51}`, waiting[0].Arguments)
	worker.Kill()
	data, err := os.ReadFile(w.Config)
	require.NoError(t, err)
	w.WriteConfig(strings.Replace(string(data), "if args.amount > 50", "if args.amount < 0", 1))
	w.Worker()
	require.Len(t, inboxOf(w, id), 2)
	w.Reset(id, "", 2)
	w.Eventually("the calls wait after the reset, too", func() bool { return len(inboxOf(w, id)) == 2 })
	for _, call := range inboxOf(w, id) {
		w.Must("approve", id, call.Handle)
	}
	w.Ends(id, "waiting")
	require.Equal(t, "assistant: paid", w.Transcript(id, 6)[5])
	require.Len(t, tools.Effects(), 3)
	w.NothingTwice()
}
