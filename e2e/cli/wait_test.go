package cli_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// With --until-asked, run and send do not wait for people: they say which calls wait, with an exit code of their own. A script decides, and
// then reads the answer.
func TestScriptThatDoesNotWaitForPeopleIsToldWhatWaits(t *testing.T) {
	t.Parallel()
	tools := world.NewToolServer(t)
	tools.Add("pay", nil, world.Echo)
	pay := llmtest.Call(llmtest.ToolCall("1", "pay", `{"amount": 3}`))
	w := world.New(t, world.Script(pay, llmtest.Say("paid 3"), llmtest.Say("hello"), pay, llmtest.Say("paid again")), tools,
		"    tools: [far.*]\n    approval: {default: always}\n")
	w.Worker()
	asked := func(args ...string) []map[string]any {
		t.Helper()
		out, errs, code := w.Starter(args...)
		require.Equal(t, 10, code, errs)
		require.Contains(t, errs, "starter tail")
		var objects []map[string]any
		for line := range strings.Lines(out) {
			var o map[string]any
			require.NoError(t, json.Unmarshal([]byte(line), &o))
			objects = append(objects, o)
		}
		require.Len(t, objects, 2, out)
		require.Equal(t, "call", objects[1]["type"])
		return objects
	}
	id := t.Name()
	found := asked("run", "--json", "--until-asked", "--chat", "--id", id, "pay")
	require.Equal(t, "agent", found[0]["type"])
	require.NotContains(t, found[0], "answer")
	w.Must("approve", id, found[1]["handle"].(string))
	require.Contains(t, w.Must("resume", "--json", id), `"answer":"paid 3"`)

	require.Equal(t, "hello\n", w.Must("send", "--until-asked", id, "hi"), "nothing is asked")
	found = asked("send", "--json", "--until-asked", id, "again")
	require.Equal(t, "reply", found[0]["type"])
	require.NotContains(t, found[0], "answer")
	w.Must("approve", id, found[1]["handle"].(string))
	require.Equal(t, "paid again\n", w.Must("resume", "--quiet", id))
}

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
