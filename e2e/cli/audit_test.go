package cli_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/whoami"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// told is a line in the output of `starter audit --json`.
type told struct {
	Act, ID, Key, Tool, By, From, Arguments, Content, Reason, Class, Agent, Hash string

	RunID        string `json:"run_id"`
	AllowedBy    string `json:"allowed_by"`
	NewArguments string `json:"new_arguments"`
	Attempt      int
	Hashes       map[string]string
}

// The trail has what people decided and what ran, once and with the run in which it happened, after a crash, an approval with other
// arguments, a denial, a reset and a fork. The calls that ran are those that the far side has counted. A copy in which a value was changed is
// found.
func TestAuditTellsWhatTheFarSideHasSeen(t *testing.T) {
	t.Parallel()
	gate := world.NewGate()
	tools := world.NewToolServer(t)
	tools.Add("read", world.ReadOnly, func(ctx context.Context, _ world.Effect) (string, error) { return "text", gate.Pass(ctx) })
	tools.Add("pay", nil, world.Echo)
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		if world.Asked(req) == 0 {
			return llmtest.Call(llmtest.ToolCall("1", "read", `{}`), llmtest.ToolCall("2", "pay", `{"n":1}`), llmtest.ToolCall("3", "pay", `{"n":2}`)), nil
		}
		return llmtest.Say("done"), nil
	}, tools, "    approval: {far.pay: always}\n")
	first := w.Worker()
	id := t.Name()
	w.Must("run", "--chat", "--detach", "--id", id, "--metadata", agent.CallerReference+"=session-1", "pay") // keys depend on the caller
	gate.Wait(t)
	first.Kill()
	w.Worker()
	var calls []struct{ ID, Handle, Arguments string }
	w.Eventually("the calls wait", func() bool {
		calls = nil
		for _, c := range world.Objects[struct{ ID, Handle, Arguments string }](w, "inbox", "--json") {
			if c.ID == id {
				calls = append(calls, c)
			}
		}
		return len(calls) == 2
	})
	w.Must("approve", id, calls[0].Handle, "--arguments", `{"n":10}`)
	w.Must("deny", id, calls[1].Handle, "--reason", "not today")
	w.Eventually("it has answered", func() bool { return w.Show(id).Status == "waiting" })
	before := w.RunID(id)
	after := w.Reset(id, "", 2)
	w.Eventually("it has answered again", func() bool { return w.RunID(id) == after && w.Show(id).Status == "waiting" })
	fork := id + "-fork"
	w.Must("fork", id, "--id", fork, "--message", "and then?")

	text := w.Must("audit", id, "--json")
	lines := world.Lines[told](t, text)
	ran := map[string]int{} // attempts at calls that have returned, by key
	recalled := 0
	var acts []string
	for _, l := range lines {
		if l.Act == "recalled" && l.Tool != "" {
			recalled++
		}
		if l.Act == "returned" {
			ran[l.Key] += l.Attempt
		}
		switch l.Act {
		case "asked", "proposed", "approved", "denied", "called", "reset":
			if l.Act == "called" && l.RunID == after {
				continue // the new run asks for what the earlier one knows
			}
			require.Equal(t, map[bool]string{true: after, false: before}[l.Act == "reset"], l.RunID, "%+v", l)
			acts = append(acts, strings.TrimSpace(l.Act+" "+l.Tool+" "+l.Arguments+l.NewArguments+" "+l.AllowedBy))
		}
		if l.Act == "asked" || l.Act == "approved" || l.Act == "denied" || l.Act == "called" && l.Tool == "pay" {
			require.Equal(t, whoami.User(), l.By, "%+v", l)
			require.Equal(t, whoami.Machine(), l.From)
		}
		if l.Act == "denied" {
			require.Equal(t, "not today", l.Reason)
		}
	}
	require.Equal(t, tools.Effects(), ran)
	require.Equal(t, 2, recalled)
	require.ElementsMatch(t, []string{
		"asked", "proposed read {}", `proposed pay {"n":1}`, `proposed pay {"n":2}`, "called read {} tool",
		`approved pay {"n":10}`, "denied pay", `called pay {"n":10} person`, "reset",
	}, acts)

	file := filepath.Join(t.TempDir(), "audit.jsonl")
	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	write(text)
	require.Contains(t, w.Must("audit", "--verify", file), "say what the histories in Temporal say")
	bare := w.Must("audit", id, "--json", "--no-content")
	require.NotContains(t, bare, "not today")
	write(bare)
	w.Must("audit", "--verify", file)
	for changed, line := range map[string]string{
		strings.Replace(text, `"new_arguments":"{\"n\":10}"`, `"new_arguments":"{\"n\":99}"`, 1): `"new_arguments"`,
		strings.Join(strings.SplitAfter(text, "\n")[:5], ""):                                     "line 5",
	} {
		write(changed)
		out, _, code := w.Starter("audit", "--verify", file)
		require.Equal(t, 12, code, out)
		require.Contains(t, out, line)
	}

	ids := map[string]bool{}
	for _, l := range world.Objects[told](w, "audit", "--since", "24h", "--json") {
		ids[l.ID] = true
	}
	require.True(t, ids[id] && ids[fork], ids)
	require.Contains(t, w.Must("audit", fork), "and then?")
	_, errs, code := w.Starter("audit", id+"-unknown")
	require.Equal(t, 4, code)
	require.Contains(t, errs, "retention")
}
