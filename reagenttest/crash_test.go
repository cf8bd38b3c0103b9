package reagenttest_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/reagenttest"
)

// A worker crashes at each point of a call. What a tool has done is not done again, unless the tool allows it.
func TestWorkerCrashes(t *testing.T) {
	for name, c := range map[string]struct {
		tool     string
		at       reagenttest.Point
		runs     int
		result   string
		requests int
	}{
		"at most once, before": {"order", reagenttest.BeforeTool("order"), 0, "outcome unknown", 2},
		"at most once, after":  {"order", reagenttest.AfterTool("order"), 1, "outcome unknown", 2},
		"idempotent, after":    {"book", reagenttest.AfterTool("book"), 2, "booked cherry", 2},
		"model":                {"book", reagenttest.DuringModel("main"), 1, "booked cherry", 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := shop(reagenttest.Script(call(c.tool, `{"name":"cherry"}`), reagenttest.Say("done")))
			o.Agents[0].Approval = nil
			agents := reagenttest.OnServer(t, o)
			agents.Crash(c.at)
			run := agents.Run("clerk", "Go.")
			run.WantAnswer("done")
			require.Equal(t, 1, agents.Crashes())
			require.Len(t, agents.Effects(c.tool), c.runs)
			require.Equal(t, c.runs, run.Calls()[0].Runs)
			require.Contains(t, run.Calls()[0].Result, c.result)
			require.Len(t, agents.Requests("main"), c.requests)
		})
	}
}

// After a reset, nothing is asked and done twice. The saved history replays.
func TestResetDoesNothingTwiceAndHistoriesReplay(t *testing.T) {
	o := shop(reagenttest.Script(call("order", `{"name":"cherry"}`), reagenttest.Say("done")))
	o.Agents[0].Approval = nil
	agents := reagenttest.OnServer(t, o)
	run := agents.Run("clerk", "Go.")
	dir := t.TempDir()
	run.Save(filepath.Join(dir, "first.json"))
	run.Reset(2).WantAnswer("done").Save(filepath.Join(dir, "reset.json"))
	require.Len(t, agents.Requests("main"), 2)
	require.Len(t, agents.Effects("order"), 1)
	require.Positive(t, run.Usage().Recalled)
	reagenttest.Replay(t, reagenttest.ReplayOptions{}, dir)
}

// What a stage cannot do is an error that says what to use instead.
func TestStageSaysWhatItCannotDo(t *testing.T) {
	said := reagenttest.Script(reagenttest.Say("hello"))
	for name, do := range map[string]func(*reagenttest.Agents){
		"Crash": func(a *reagenttest.Agents) { a.Crash(reagenttest.AfterTool("order")) },
		"Reset": func(a *reagenttest.Agents) { a.Run("clerk", "Go.").Reset(1) },
		"Save":  func(a *reagenttest.Agents) { a.Run("clerk", "Go.").Save("x.json") },
	} {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, fatal(t, func(t testing.TB) { do(reagenttest.New(t, shop(said))) }), "use reagenttest.OnServer")
		})
	}
	t.Run("Elapse", func(t *testing.T) {
		require.Contains(t, fatal(t, func(t testing.TB) { reagenttest.OnServer(t, shop(said)).Run("clerk", "Go.").Elapse(1) }), "use reagenttest.New")
	})
	t.Run("wrong names", func(t *testing.T) {
		require.Contains(t, fatal(t, func(t testing.TB) { reagenttest.OnServer(t, shop(said)).Crash(reagenttest.AfterTool("fly")) }), "no such tool")
		require.Contains(t, fatal(t, func(t testing.TB) { reagenttest.New(t, shop(said)).Run("nobody", "Go.").WantAnswer("x") }), "nobody")
		require.Contains(t, fatal(t, func(t testing.TB) { reagenttest.New(t, shop(said)).Run("clerk", "Go.").Approve("") }), "no call of clerk-1 waits for approval; the agent is completed")
		require.Contains(t, fatal(t, func(t testing.TB) { reagenttest.New(t, shop(said)).Run("clerk", "Go.").Send("More.") }), "the agent has ended")
		require.Contains(t, fatal(t, func(t testing.TB) { reagenttest.New(t, shop(said)).Requests("other") }), `there are ["main"]`)
		var none llm.Client
		require.Contains(t, fatal(t, func(t testing.TB) { reagenttest.New(t, shop(none)).Requests("main") }), "no such model with a Client")
	})
}

// A history that does not fit the code fails the test and names its file.
func TestHistoryThatDoesNotReplayFails(t *testing.T) {
	o := shop(reagenttest.Script(call("order", `{"name":"cherry"}`), reagenttest.Say("done")))
	o.Agents[0].Approval = nil
	file := filepath.Join(t.TempDir(), "a.json")
	reagenttest.OnServer(t, o).Run("clerk", "Go.").Save(file)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(text), "CallModel")
	require.NoError(t, os.WriteFile(file, bytes.ReplaceAll(text, []byte("CallModel"), []byte("CallOther")), 0o600))
	said := fatal(t, func(t testing.TB) { reagenttest.Replay(t, reagenttest.ReplayOptions{}, file) })
	require.Contains(t, said, file)
	require.Contains(t, said, "workflow.GetVersion")
	for text, want := range map[string]string{"{}": "does not begin with its start", "[": "no history as JSON"} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		require.Contains(t, fatal(t, func(t testing.TB) { reagenttest.Replay(t, reagenttest.ReplayOptions{}, file) }), want)
	}
	require.Contains(t, fatal(t, func(t testing.TB) { reagenttest.Replay(t, reagenttest.ReplayOptions{}, t.TempDir()) }), "there is no *.json")
}
