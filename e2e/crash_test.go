package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// gate holds the first call that comes to it until the caller goes away or the gate is opened.
type gate struct {
	calls   atomic.Int32
	arrived chan struct{}
	open    chan struct{}
}

func newGate() *gate { return &gate{arrived: make(chan struct{}), open: make(chan struct{})} }

func (g *gate) pass(ctx context.Context) error {
	if g.calls.Add(1) > 1 {
		return nil
	}
	close(g.arrived)
	select {
	case <-g.open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// wait waits until a call stands at the gate.
func (g *gate) wait(t testing.TB) {
	t.Helper()
	select {
	case <-g.arrived:
	case <-time.After(patience):
		require.FailNow(t, "nothing came to the gate")
	}
}

// The model request that was in flight is the only one that is made again.
func TestModelCallIsRepeatedOnceWhenTheWorkerDiesDuringIt(t *testing.T) {
	t.Parallel()
	g := newGate()
	w := newWorld(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		if asked(req) == 1 {
			if err := g.pass(ctx); err != nil {
				return llm.Reply{}, err
			}
		}
		return script(llmtest.Call(llmtest.ToolCall("1", "calculator", `{"expression":"6*7"}`)), llmtest.Say("42"))(ctx, req)
	}, nil, "    tools: [calculator]\n")
	first := w.worker()
	w.must("run", "--detach", "--id", t.Name(), "six times seven?")
	g.wait(t)
	first.kill()
	died := time.Now()
	w.worker()
	w.finished(t.Name(), "42")
	t.Logf("recovered %v after the kill, the worker's start included", time.Since(died).Round(10*time.Millisecond))
	require.Equal(t, []int{1, 2}, values(w.requests()))
	shown := w.show(t.Name())
	require.Len(t, shown.Messages, 4)
	require.Equal(t, 1, shown.Usage["lost_attempts"])
	require.Contains(t, w.must("show", t.Name()), "1 of them lost with a worker; the provider may have billed these, too")
}

// A tool that may be repeated is, under the same key.
func TestReadOnlyToolRunsAgainWhenTheWorkerDiesDuringIt(t *testing.T) {
	t.Parallel()
	g := newGate()
	tools := newToolServer(t)
	tools.add("read", readOnly, func(ctx context.Context, e effect) (string, error) {
		if err := g.pass(ctx); err != nil {
			return "", err
		}
		return "text", nil
	})
	w := newWorld(t, script(llmtest.Call(llmtest.ToolCall("1", "read", `{}`)), llmtest.Say("read")), tools, "")
	first := w.worker()
	w.must("run", "--detach", "--id", t.Name(), "read it")
	g.wait(t)
	first.kill()
	w.worker()
	w.finished(t.Name(), "read")
	require.Equal(t, []int{2}, values(tools.effects()), "one key, twice")
	require.Equal(t, []int{1, 1}, values(w.requests()))
	require.Equal(t, "tool: text", w.show(t.Name()).lines()[2])
}

// A tool that must not be repeated is not: the model is told that nobody knows.
// The calls beside it keep their results.
func TestAtMostOnceToolNeverRunsTwice(t *testing.T) {
	t.Parallel()
	g := newGate()
	tools := newToolServer(t)
	tools.add("pay", nil, func(ctx context.Context, e effect) (string, error) {
		if e.Arguments == `{"n":2}` {
			if err := g.pass(ctx); err != nil {
				return "", err
			}
		}
		return "paid " + e.Arguments, nil
	})
	w := newWorld(t, script(
		llmtest.Call(llmtest.ToolCall("1", "pay", `{"n":1}`), llmtest.ToolCall("2", "pay", `{"n":2}`), llmtest.ToolCall("3", "pay", `{"n":3}`)),
		llmtest.Say("I will check."),
	), tools, "")
	first := w.worker()
	w.must("run", "--detach", "--id", t.Name(), "pay them")
	g.wait(t)
	w.eventually("the others are paid", func() bool { return len(w.show(t.Name()).Pending) == 1 })
	first.kill()
	w.worker()
	w.finished(t.Name(), "I will check.")
	require.Equal(t, []int{1, 1, 1}, values(tools.effects()))
	require.Equal(t, []int{1, 1}, values(w.requests()))
	require.Equal(t, []string{
		`tool: paid {"n":1}`,
		"tool: interrupted: the worker stopped while the tool ran; outcome unknown — check before you retry",
		`tool: paid {"n":3}`,
	}, w.show(t.Name()).lines()[2:5])
}

// A worker that dies while nothing runs leaves no trace.
func TestChatGoesOnWithAnotherWorkerBetweenTurns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		return llmtest.Say(fmt.Sprint("reply ", asked(req)+1, strings.Repeat(".", 3000))), nil
	}, nil, "")
	for i := range 4 {
		worker := w.worker()
		if i == 0 {
			w.must("run", "--chat", "--id", t.Name(), "hello")
		} else {
			require.Contains(t, w.must("send", t.Name(), "more"), fmt.Sprint("reply ", i+1))
		}
		worker.kill()
	}
	w.worker()
	require.Len(t, w.show(t.Name()).Messages, 8)
	require.Equal(t, []int{1, 1, 1, 1}, values(w.requests()))
}

// Two programs that start one ID start one agent.
func TestTwoStartersRaceForOneAgent(t *testing.T) {
	w := newWorld(t, script(llmtest.Say("once")), nil, "")
	w.worker()
	var race sync.WaitGroup
	outs, codes := make([]string, 4), make([]int, 4)
	for i := range outs {
		race.Go(func() { outs[i], _, codes[i] = w.starter("run", "--id", t.Name(), "who is first?") })
	}
	race.Wait()
	w.finished(t.Name(), "once")
	require.Equal(t, []int{1}, values(w.requests()))
	require.Equal(t, 1, w.runs(t.Name()))
	require.Contains(t, codes, 0)
	for i, code := range codes { // who comes while the agent runs sees it to its end, who comes later is told that it has ended
		require.Contains(t, []int{0, 4}, code, outs[i])
		require.Equal(t, code == 0, strings.Contains(outs[i], "once"), outs[i])
	}
}

// Work is spread over workers; each effect is done by one.
func TestTwoWorkersShareTheWork(t *testing.T) {
	tools := newToolServer(t)
	tools.add("pay", nil, echo)
	w := newWorld(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		if n := asked(req); n < 10 {
			return llmtest.Call(llmtest.ToolCall("1", "pay", fmt.Sprintf(`{"n":%d}`, n)), llmtest.ToolCall("2", "pay", fmt.Sprintf(`{"n":%d}`, n))), nil
		}
		return llmtest.Say("done"), nil
	}, tools, "")
	first := w.worker()
	w.worker()
	var ids []string
	for i := range 4 {
		id := fmt.Sprint(t.Name(), i)
		ids = append(ids, id)
		w.must("run", "--detach", "--id", id, "pay")
	}
	w.eventually("half of the work is done", func() bool { return len(tools.effects()) > 40 })
	first.terminate()
	for _, id := range ids {
		w.finished(id, "done")
	}
	for key, n := range tools.effects() {
		require.Equal(t, 1, n, key)
	}
	for key, n := range w.requests() {
		require.Equal(t, 1, n, key)
	}
	require.Len(t, tools.effects(), 80)
	w.eventually("the first worker stops", first.ended)
	require.Contains(t, first.output(), "Stopped.")
}

// A worker that is told to stop lets its calls end and takes no more.
func TestRunningCallsAreDrained(t *testing.T) {
	g := newGate()
	tools := newToolServer(t)
	tools.add("pay", nil, func(ctx context.Context, e effect) (string, error) {
		return "paid", g.pass(ctx)
	})
	w := newWorld(t, script(llmtest.Call(llmtest.ToolCall("1", "pay", `{}`)), llmtest.Say("done")), tools, "")
	first := w.worker()
	w.must("run", "--detach", "--id", t.Name(), "pay")
	g.wait(t)
	first.terminate()
	w.eventually("the worker drains", func() bool { return strings.Contains(first.output(), "Stopping") })
	require.False(t, first.ended())
	close(g.open)
	w.eventually("the worker stops", first.ended)
	require.Equal(t, 0, first.cmd.ProcessState.ExitCode(), first.output())
	w.worker()
	w.finished(t.Name(), "done")
	require.Equal(t, []int{1}, values(tools.effects()))
	require.Equal(t, "tool: paid", w.show(t.Name()).lines()[2])
}

// A sub-agent is a workflow of its own: it goes on, and its parent finds its answer.
func TestSubAgentGoesOnWhenItsParentsWorkerDies(t *testing.T) {
	t.Parallel()
	g := newGate()
	w := familyWorld(t, g)
	first := w.worker()
	w.must("run", "--detach", "-a", "x", "--id", t.Name(), "ask the clerk")
	g.wait(t)
	first.kill()
	w.worker()
	w.finished(t.Name(), "the clerk says: counted")
	require.Equal(t, []int{1, 1, 2}, values(w.requests()), "the clerk's one request was in flight")
	s := w.show(t.Name())
	require.Len(t, s.Children, 1)
	require.Equal(t, "completed", s.Children[0].Status)
	require.Equal(t, "clerk", s.Children[0].Agent)
	require.Equal(t, "tool: counted", s.lines()[2])
	require.Equal(t, []string{"user: count", "assistant: counted"}, w.show(s.Children[0].ID).lines())
}

// A user's cancel walks down the tree.
func TestCancelReachesTheSubAgent(t *testing.T) {
	g := newGate()
	w := familyWorld(t, g)
	w.worker()
	w.must("run", "--detach", "-a", "x", "--id", t.Name(), "ask the clerk")
	g.wait(t)
	// As the Web UI does: only the agent itself is asked.
	require.NoError(t, w.temporal.CancelWorkflow(t.Context(), t.Name(), ""))
	w.eventually("the agent is cancelled", func() bool { return w.show(t.Name()).Status == "cancelled" })
	s := w.show(t.Name())
	require.Len(t, s.Children, 1)
	w.eventually("the sub-agent is cancelled", func() bool { return w.show(s.Children[0].ID).Status == "cancelled" })
	require.Len(t, s.Messages, 3, "the open call has a result")
	require.Empty(t, s.Pending)

	// Cancelled by mistake: the agent goes on, and is told what became of its sub-agent, once, or never
	// where it has answered before that is known.
	w.must("resume", "--message", "go on", t.Name())
	w.eventually("the agent has answered", func() bool { return w.show(t.Name()).Status == "completed" })
	lines := w.show(t.Name()).lines()
	told := slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return !strings.HasPrefix(line, "user: The interrupted call") })
	require.LessOrEqual(t, len(told), 1, "%q", lines)
	for _, line := range told {
		require.Contains(t, line, "cancelled")
	}
	require.Equal(t, "user: go on", lines[3])
	for key, n := range w.requests() {
		require.Equal(t, 1, n, key)
	}
}

// An agent that ends while a sub-agent still works ends that too, unless it is told to keep it.
func TestFinishCancelsWhatNobodyWaitsFor(t *testing.T) {
	for keep, status := range map[bool]string{false: "cancelled", true: "completed"} {
		t.Run(status, func(t *testing.T) {
			g := newGate()
			w := familyWorld(t, g, fmt.Sprintf("    limits: {time: 1s}\n    keep_agents: %v\n", keep))
			w.worker()
			w.must("run", "--detach", "-a", "x", "--id", t.Name(), "ask the clerk")
			w.eventually("the agent's time is up", func() bool { return w.show(t.Name()).Status == "completed" })
			close(g.open)
			s := w.show(t.Name())
			require.Len(t, s.Children, 1)
			w.eventually("the sub-agent ends", func() bool { return w.show(s.Children[0].ID).Status == status })
		})
	}
}

// familyWorld has an agent x that asks a clerk, whose model stands at the gate.
func familyWorld(t *testing.T, g *gate, extra ...string) *world {
	w := newWorld(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		if req.Messages[0].Content == "You count." {
			if err := g.pass(ctx); err != nil {
				return llm.Reply{}, err
			}
			return llmtest.Say("counted"), nil
		}
		if asked(req) == 0 {
			return llmtest.Call(llmtest.ToolCall("1", "clerk", `{"task":"count"}`)), nil
		}
		return llmtest.Say("the clerk says: " + req.Messages[len(req.Messages)-1].Content), nil
	}, nil, "    agents: [clerk]\n"+strings.Join(extra, "")+"  clerk:\n    model: main\n    description: counts\n    instructions: You count.\n")
	return w
}

// finished waits for an agent to complete with an answer.
func (w *world) finished(id, answer string) {
	w.t.Helper()
	var result struct{ Answer string }
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	require.NoError(w.t, w.temporal.GetWorkflow(ctx, id, "").Get(ctx, &result))
	require.Equal(w.t, answer, result.Answer)
}

// values returns the counts, sorted.
func values(counts map[string]int) []int {
	var all []int
	for _, n := range counts {
		all = append(all, n)
	}
	slices.Sort(all)
	return all
}
