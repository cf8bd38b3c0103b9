package cli_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// `starter approve` without the name of a call decides on a terminal only on the call that it has shown, and only if the person says yes.
// A call that has begun to wait meanwhile waits on. Without a terminal it decides at once, and says on what.
func TestApproveDecidesOnWhatItHasShown(t *testing.T) {
	needTmux(t)
	tools := world.NewToolServer(t)
	tools.Add("pay", nil, world.Echo)
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		n := world.Asked(req) + 1
		if n == 5 {
			return llmtest.Say("done"), nil
		}
		return llmtest.Call(llmtest.ToolCall(fmt.Sprint(n), "pay", fmt.Sprintf(`{"n": %d, "to": "kim\u001b[2J"}`, n))), nil
	}, tools, "    tools: [far.*]\n    approval: {default: always}\n")
	w.Worker()
	id := "decided" // short, so that its lines fit on the screen
	w.Must("run", "--detach", "--id", id, "pay")
	waits := func(n int) (handle string) {
		t.Helper()
		w.Eventually("the call waits", func() bool {
			waiting, err := w.Client.Pending(t.Context(), id)
			require.NoError(t, err)
			if len(waiting) != 1 || waiting[0].Call.Arguments != fmt.Sprintf(`{"n": %d, "to": "kim\u001b[2J"}`, n) {
				return false
			}
			handle = waiting[0].Handle()
			return true
		})
		return handle
	}
	first := waits(1)
	p := newPaneOf(w, "bash", "--norc", "--noprofile")
	run := func(args string) {
		p.tmux("send-keys", "-l", "clear; "+world.Binary("starter")+args+"; echo code $?")
		p.tmux("send-keys", "Enter")
	}
	enter := func(text string) { p.tmux("send-keys", text, "Enter") }

	run(" approve " + id)
	p.shows(id+" (x), for ", ": pay\n    n   1\n    to  \"kim\\u001b[2J\"\nApprove? [y/N]")
	_, errs, code := w.Starter("deny", id, first, "--reason", "no")
	require.Zero(t, code, errs)
	require.Equal(t, "Denied "+first+" pay of agent "+id+":\n    n   1\n    to  \"kim\\u001b[2J\"\n", errs)
	second := waits(2)
	enter("y")
	p.shows("code 4")
	require.Equal(t, second, waits(2), "the answer was about another call")

	run(" approve " + id)
	p.shows(": pay\n    n   2\n    to  \"kim\\u001b[2J\"\nApprove? [y/N]")
	p.tmux("send-keys", "Enter")
	p.shows("Nothing was decided.", "code 0")
	run(" deny " + id)
	p.shows(": pay\n    n   2\n    to  \"kim\\u001b[2J\"\nDeny? [y/N]")
	p.tmux("send-keys", "C-c")
	p.shows("interrupted; nothing was decided", "code 130")
	run(` approve ` + id + ` --arguments '{"n": 20}'`)
	p.shows("It will run with these arguments instead:\n    n  20\nApprove? [y/N]")
	enter("y")
	p.shows("Approved "+second+" pay of agent "+id, "\n    n  20\nin place of:\n    n   2\n", "code 0")

	third := waits(3)
	run(" approve --yes " + id)
	p.shows("Approved "+third, "code 0")
	fourth := waits(4)
	_, errs, code = w.Starter("approve", id)
	require.Zero(t, code, errs)
	require.Equal(t, "Approved "+fourth+" pay of agent "+id+":\n    n   4\n    to  \"kim\\u001b[2J\"\n", errs)
	w.Finished(id, "done")
	require.Len(t, tools.Effects(), 3)
	require.Contains(t, w.Show(id).Lines(), "tool: denied: a person refused this call: no")
}
