package recovery_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// If the worker dies during a model call, only this call is made again, and only once.
func TestModelCallIsRepeatedOnceWhenTheWorkerDiesDuringIt(t *testing.T) {
	t.Parallel()
	g := world.NewGate()
	w := world.New(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		if world.Asked(req) == 1 {
			if err := g.Pass(ctx); err != nil {
				return llm.Reply{}, err
			}
		}
		return world.Script(llmtest.Call(llmtest.ToolCall("1", "calculator", `{"expression":"6*7"}`)), llmtest.Say("42"))(ctx, req)
	}, nil, "    tools: [calculator]\n")
	first := w.Worker()
	w.Must("run", "--detach", "--id", t.Name(), "six times seven?")
	g.Wait(t)
	first.Kill()
	died := time.Now()
	w.Worker()
	w.Finished(t.Name(), "42")
	t.Logf("recovered %v after the kill, the worker's start included", time.Since(died).Round(10*time.Millisecond))
	require.Equal(t, []int{1, 2}, world.Values(w.Requests()))
	shown := w.Show(t.Name())
	require.Len(t, shown.Messages, 4)
	require.Equal(t, 1, shown.Usage["lost_attempts"])
	require.Contains(t, w.Must("show", t.Name()), "1 of them lost with a worker; the provider may have billed these, too")
}

// If the worker dies during a call of a read-only tool, the call is made again with the same key.
func TestReadOnlyToolRunsAgainWhenTheWorkerDiesDuringIt(t *testing.T) {
	t.Parallel()
	g := world.NewGate()
	tools := world.NewToolServer(t)
	tools.Add("read", world.ReadOnly, func(ctx context.Context, e world.Effect) (string, error) {
		if err := g.Pass(ctx); err != nil {
			return "", err
		}
		return "text", nil
	})
	w := world.New(t, world.Script(llmtest.Call(llmtest.ToolCall("1", "read", `{}`)), llmtest.Say("read")), tools, "")
	first := w.Worker()
	w.Must("run", "--detach", "--id", t.Name(), "read it")
	g.Wait(t)
	first.Kill()
	w.Worker()
	w.Finished(t.Name(), "read")
	require.Equal(t, []int{2}, world.Values(tools.Effects()), "one key, twice")
	require.Equal(t, []int{1, 1}, world.Values(w.Requests()))
	require.Equal(t, "tool: text", w.Show(t.Name()).Lines()[2])
}

// If the worker dies during a call of an at-most-once tool, the call is not made again. The model is told that the
// outcome is unknown. The other calls of the same reply keep their results.
func TestAtMostOnceToolNeverRunsTwice(t *testing.T) {
	t.Parallel()
	g := world.NewGate()
	tools := world.NewToolServer(t)
	tools.Add("pay", nil, func(ctx context.Context, e world.Effect) (string, error) {
		if e.Arguments == `{"n":2}` {
			if err := g.Pass(ctx); err != nil {
				return "", err
			}
		}
		return "paid " + e.Arguments, nil
	})
	w := world.New(t, world.Script(
		llmtest.Call(llmtest.ToolCall("1", "pay", `{"n":1}`), llmtest.ToolCall("2", "pay", `{"n":2}`), llmtest.ToolCall("3", "pay", `{"n":3}`)),
		llmtest.Say("I will check."),
	), tools, "")
	first := w.Worker()
	w.Must("run", "--detach", "--id", t.Name(), "pay them")
	g.Wait(t)
	w.Eventually("the others are paid", func() bool { return len(w.Show(t.Name()).Pending) == 1 })
	first.Kill()
	w.Worker()
	w.Finished(t.Name(), "I will check.")
	require.Equal(t, []int{1, 1, 1}, world.Values(tools.Effects()))
	require.Equal(t, []int{1, 1}, world.Values(w.Requests()))
	require.Equal(t, []string{
		`tool: paid {"n":1}`,
		"tool: no result: the worker stopped while the tool ran; outcome unknown — check before you retry",
		`tool: paid {"n":3}`,
	}, w.Show(t.Name()).Lines()[2:5])
}

// If the worker dies between two turns of a chat, another worker serves the next turn, and no model call is repeated.
func TestChatGoesOnWithAnotherWorkerBetweenTurns(t *testing.T) {
	t.Parallel()
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		return llmtest.Say(fmt.Sprint("reply ", world.Asked(req)+1, strings.Repeat(".", 3000))), nil
	}, nil, "")
	for i := range 4 {
		worker := w.Worker()
		if i == 0 {
			w.Must("run", "--chat", "--id", t.Name(), "hello")
		} else {
			require.Contains(t, w.Must("send", t.Name(), "more"), fmt.Sprint("reply ", i+1))
		}
		worker.Kill()
	}
	w.Worker()
	require.Len(t, w.Show(t.Name()).Messages, 8)
	require.Equal(t, []int{1, 1, 1, 1}, world.Values(w.Requests()))
}

// If several programs start an agent with the same ID at the same time, only one agent is started.
func TestTwoStartersRaceForOneAgent(t *testing.T) {
	w := world.New(t, world.Script(llmtest.Say("once")), nil, "")
	w.Worker()
	var race sync.WaitGroup
	outs, codes := make([]string, 4), make([]int, 4)
	for i := range outs {
		race.Go(func() { outs[i], _, codes[i] = w.Starter("run", "--id", t.Name(), "who is first?") })
	}
	race.Wait()
	w.Finished(t.Name(), "once")
	require.Equal(t, []int{1}, world.Values(w.Requests()))
	require.Equal(t, 1, w.Runs(t.Name()))
	require.Contains(t, codes, 0)
	// A program that finds the running agent waits for its end. A program that comes later is told that the agent has ended.
	for i, code := range codes {
		require.Contains(t, []int{0, 7}, code, outs[i])
		require.Equal(t, code == 0, strings.Contains(outs[i], "once"), outs[i])
	}
}

// Two workers serve the same agents, and one of them stops. Each call is still made once.
func TestTwoWorkersShareTheWork(t *testing.T) {
	tools := world.NewToolServer(t)
	tools.Add("pay", nil, world.Echo)
	w := world.New(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		if n := world.Asked(req); n < 10 {
			return llmtest.Call(llmtest.ToolCall("1", "pay", fmt.Sprintf(`{"n":%d}`, n)), llmtest.ToolCall("2", "pay", fmt.Sprintf(`{"n":%d}`, n))), nil
		}
		return llmtest.Say("done"), nil
	}, tools, "")
	first := w.Worker()
	w.Worker()
	var ids []string
	for i := range 4 {
		id := fmt.Sprint(t.Name(), i)
		ids = append(ids, id)
		w.Must("run", "--detach", "--id", id, "pay")
	}
	w.Eventually("half of the work is done", func() bool { return len(tools.Effects()) > 40 })
	first.Terminate()
	for _, id := range ids {
		w.Finished(id, "done")
	}
	for key, n := range tools.Effects() {
		require.Equal(t, 1, n, key)
	}
	for key, n := range w.Requests() {
		require.Equal(t, 1, n, key)
	}
	// Temporal may give a call to the first worker just when this worker stops to ask for work. The call is then lost.
	unknown := 0
	for _, id := range ids {
		unknown += strings.Count(strings.Join(w.Show(id).Lines(), "\n"), "outcome unknown")
	}
	require.Len(t, tools.Effects(), 80-unknown)
	require.LessOrEqual(t, unknown, 2)
	w.Eventually("the first worker stops", first.Ended)
	require.Contains(t, first.Output(), "Stopped.")
}

// When a worker is told to stop, it lets its running calls end before it stops.
func TestRunningCallsAreDrained(t *testing.T) {
	g := world.NewGate()
	tools := world.NewToolServer(t)
	tools.Add("pay", nil, func(ctx context.Context, e world.Effect) (string, error) {
		return "paid", g.Pass(ctx)
	})
	w := world.New(t, world.Script(llmtest.Call(llmtest.ToolCall("1", "pay", `{}`)), llmtest.Say("done")), tools, "")
	first := w.Worker()
	w.Must("run", "--detach", "--id", t.Name(), "pay")
	g.Wait(t)
	first.Terminate()
	w.Eventually("the worker drains", func() bool { return strings.Contains(first.Output(), "Stopping") })
	require.False(t, first.Ended())
	close(g.Open)
	w.Eventually("the worker stops", first.Ended)
	require.Equal(t, 0, first.Cmd.ProcessState.ExitCode(), first.Output())
	w.Worker()
	w.Finished(t.Name(), "done")
	require.Equal(t, []int{1}, world.Values(tools.Effects()))
	require.Equal(t, "tool: paid", w.Show(t.Name()).Lines()[2])
}
