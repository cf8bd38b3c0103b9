package faults_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	reagent "github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/e2e/internal/lab"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/internal/testkit/fault"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// A read-only tool call that crashes its worker each time is given up after 5 attempts. Its result then says that it was
// interrupted.
func TestToolThatKillsItsWorkerIsGivenUp(t *testing.T) {
	t.Parallel()
	tools := world.NewToolServer(t)
	var workers *lab.Crew
	tools.Add("read", world.ReadOnly, func(context.Context, world.Effect) (string, error) {
		workers.Kill(0)
		return "", nil
	})
	w := world.New(t, world.Script(llmtest.Call(llmtest.ToolCall("1", "read", `{}`)), llmtest.Say("I give up.")), tools, "")
	workers = lab.NewCrew(w, 1, lab.NewLedger(), nil, "worker")
	w.Must("run", "--detach", "--id", t.Name(), "read")
	w.Finished(t.Name(), "I give up.")
	require.Equal(t, []int{5}, world.Values(tools.Effects()))
	require.Equal(t, 5, workers.Died())
	require.Contains(t, w.Show(t.Name()).Lines()[2], "no result: the worker stopped while the tool ran")
}

// A model call that crashes its worker each time is given up after 5 attempts. The agent is then held: it does nothing until
// someone acts.
func TestModelCallThatKillsItsWorkerIsGivenUp(t *testing.T) {
	t.Parallel()
	var workers *lab.Crew
	w := world.New(t, func(context.Context, llm.Request) (llm.Reply, error) {
		workers.Kill(0)
		return llmtest.Say("nobody hears it"), nil
	}, nil, "")
	workers = lab.NewCrew(w, 1, lab.NewLedger(), nil, "worker")
	w.Must("run", "--detach", "--id", t.Name(), "--chat", "hello")
	w.Eventually("the turn is held", func() bool {
		snap, err := w.Client.ShowRecorded(t.Context(), t.Name())
		return err == nil && snap.Status == reagent.Held && snap.Class == protocol.WorkerLost
	})
	require.Len(t, w.Model.Requests(), 5)
}

// After a crash, a worker with the flag --results-dir reports the results that had arrived before the crash. Nothing runs twice.
func TestKeptResultOutlivesItsWorker(t *testing.T) {
	t.Parallel()
	program, err := lab.FaultyWorker()
	require.NoError(t, err)
	armed, keep := t.TempDir(), filepath.Join(t.TempDir(), "keep")
	tools := world.NewToolServer(t)
	tools.Add("pay", nil, world.Echo)
	w := world.New(t, world.Script(llmtest.Call(llmtest.ToolCall("1", "pay", `{"n":1}`)), llmtest.Say("done")), tools, "")
	dies := func(p fault.Point) *world.Process {
		require.NoError(t, fault.Arm(armed, p, 0))
		cmd := w.Command(program, "--config", w.Config, "--results-dir", keep)
		cmd.Env = append(cmd.Env, fault.Env+"="+armed)
		return w.StartCommand(cmd)
	}
	first := dies(fault.ModelAnswered)
	w.Must("run", "--detach", "--id", t.Name(), "pay")
	w.Eventually("the worker dies with the model's reply", first.Ended)
	second := dies(fault.ToolAnswered)
	w.Eventually("the worker dies with the tool's result", second.Ended)
	w.Worker("--results-dir", keep)
	w.Finished(t.Name(), "done")
	require.Equal(t, []string{"user: pay", `assistant: [pay {"n":1}]`, `tool: did {"n":1}`, "assistant: done"}, w.Show(t.Name()).Lines())
	w.NothingTwice()
	files, err := os.ReadDir(keep)
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		info, err := file.Info()
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode())
	}
}
