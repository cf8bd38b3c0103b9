package cli_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// The flag --wait limits the wait for a worker. While a call waits for a person, an agent needs none, and the command waits on.
func TestWaitForAPersonIsNoWaitForAWorker(t *testing.T) {
	t.Parallel()
	tools := world.NewToolServer(t)
	tools.Add("pay", nil, world.Echo)
	w := world.New(t, world.Script(llmtest.Call(llmtest.ToolCall("1", "pay", `{}`)), llmtest.Say("paid")), tools, "    tools: [far.*]\n    approval: {default: always}\n")
	w.Worker()
	run := w.Start("starter", "run", "--wait", "2s", "--id", t.Name(), "pay")
	w.Eventually("the starter says that the call waits", func() bool { return strings.Contains(run.Output(), "The agent waits for a decision") })
	unserved := t.Name() + "-unserved"
	_, errs, code := w.Starter("run", "--task-queue", unserved, "-a", "x", "--wait", "2s", "--id", unserved, "hi")
	require.Equal(t, 5, code, errs)
	require.False(t, run.Ended(), run.Output())
	w.Must("approve", t.Name())
	w.Eventually("it ends", run.Ended)
	require.Contains(t, run.Output(), "paid")
	w.Must("cancel", unserved)
}
