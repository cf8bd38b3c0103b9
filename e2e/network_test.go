package e2e_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/devserver"
	"github.com/reagent-dev/reagent/internal/fault"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
	"github.com/reagent-dev/reagent/protocol"
)

// hall holds all calls that come to it until it is opened.
type hall struct {
	calls atomic.Int32
	open  chan struct{}
}

func newHall() *hall { return &hall{open: make(chan struct{})} }

func (h *hall) pass(ctx context.Context) error {
	h.calls.Add(1)
	select {
	case <-h.open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// errands is a world of agents who each ask the model, pay once, and ask the model again. The first model call and the
// payment of each stand in a hall until it is opened.
type errands struct {
	*world
	models, pays *hall
	ids          []string
}

func newErrands(t *testing.T, count int) *errands {
	e := &errands{models: newHall(), pays: newHall()}
	tools := newToolServer(t)
	tools.add("pay", nil, func(ctx context.Context, _ effect) (string, error) { return "paid", e.pays.pass(ctx) })
	e.world = newWorld(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		if asked(req) > 0 {
			return llmtest.Say("done"), nil
		}
		return llmtest.Call(llmtest.ToolCall("1", "pay", `{}`)), e.models.pass(ctx)
	}, tools, "")
	for i := range count {
		e.ids = append(e.ids, fmt.Sprint(strings.ReplaceAll(t.Name(), "/", "-"), i))
	}
	return e
}

// start starts the agents and waits until all are at their first model call.
func (e *errands) start() {
	for _, id := range e.ids {
		e.must("run", "--detach", "--id", id, "pay "+id)
	}
	e.stand(e.models)
}

// stand waits until all agents stand in a hall.
func (e *errands) stand(h *hall) {
	e.eventually("all calls are in flight", func() bool { return int(h.calls.Load()) == len(e.ids) })
}

// givenUp waits until Temporal has given up the attempts at all pending calls.
func (e *errands) givenUp() {
	for _, id := range e.ids {
		e.eventually("the attempt is given up", func() bool {
			found, err := e.temporal.DescribeWorkflowExecution(e.t.Context(), id, "")
			require.NoError(e.t, err)
			for _, pending := range found.GetPendingActivities() {
				if pending.GetAttempt() > 1 {
					return true
				}
			}
			return false
		})
	}
}

// paidOnce waits until all agents have completed, and asserts that each has its result and nothing was done twice.
func (e *errands) paidOnce() {
	for _, id := range e.ids {
		e.finished(id, "done")
		require.Equal(e.t, []string{"user: pay " + id, "assistant: [pay {}]", "tool: paid", "assistant: done"}, e.show(id).lines())
	}
	e.once()
	require.Len(e.t, e.requests(), 2*len(e.ids))
	require.Len(e.t, e.tools.effects(), len(e.ids))
}

// What a worker has in flight when its network fails, or what arrives meanwhile, is reported when the network is back.
func TestNetworkFailureRepeatsNothing(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(*proxy){"stall": (*proxy).stall, "cut": (*proxy).cut} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newErrands(t, 10)
			p := newProxy(t, e.address)
			direct := e.address
			e.address = p.address()
			e.worker()
			e.address = direct
			e.start()

			fail(p)
			e.givenUp()
			p.restore()
			close(e.models.open) // in flight from before the failure until after it
			e.stand(e.pays)

			fail(p)
			close(e.pays.open) // finished while the network is away
			e.givenUp()
			p.restore()
			e.paidOnce()
		})
	}
}

// A server that dies and comes back on its data finds the workers with what they have in flight, and with
// what they have finished meanwhile.
func TestServerCrashRepeatsNothing(t *testing.T) {
	t.Parallel()
	e := newErrands(t, 10)
	options := devserver.Options{DBFilename: filepath.Join(t.TempDir(), "crash.db"), Port: freePort(t)}
	own, err := devserver.Start(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(func() { own.Stop() })
	e.moveTo(own)
	crash := func() {
		require.NoError(t, syscall.Kill(own.PID(), syscall.SIGKILL))
		<-own.Done()
	}
	restart := func() {
		own, err = devserver.Start(t.Context(), options)
		require.NoError(t, err)
	}
	e.worker()
	e.start()

	crash()
	restart()
	close(e.models.open)
	e.stand(e.pays)

	crash()
	close(e.pays.open)
	restart()
	e.paidOnce()
}

// A worker that was frozen while it was given a call does not make it when it wakes up: Temporal has given it to
// another one meanwhile.
func TestFrozenWorkerSendsNothingLate(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	w := newWorld(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		last := req.Messages[len(req.Messages)-1]
		if last.Content == "count" {
			return llmtest.Call(llmtest.ToolCall("1", "count", `{}`)), nil
		}
		return llmtest.Say(last.Content), nil
	}, nil, "")
	w.write(fmt.Sprintf(`task_queue: %s
models:
  main: {model: m, base_url: %q}
mcp_servers:
  counter: {command: [%q], env: {%s: "1"}, stateful: true}
agents:
  x: {model: main, tools: [counter.*]}
`, w.queue, w.model.URL, self, counterEnv))
	w.worker("--stateful", "none")
	w.must("run", "--chat", "--id", t.Name(), "hello") // so that the workflow is cached there
	frozen := w.worker()
	require.Equal(t, "1\n", w.must("send", t.Name(), "count"))

	require.NoError(t, frozen.cmd.Process.Signal(syscall.SIGSTOP))
	w.must("send", "--detach", t.Name(), "count")
	w.eventually("the call is given up", func() bool {
		found, err := w.temporal.DescribeWorkflowExecution(t.Context(), t.Name(), "")
		require.NoError(t, err)
		for _, pending := range found.GetPendingActivities() {
			if pending.GetActivityType().GetName() == protocol.CallTool && pending.GetAttempt() > 1 {
				return true
			}
		}
		return false
	})
	other := w.worker()
	w.eventually("the model is told that the call may have run", func() bool {
		// From history: a query may be given to the frozen worker, too.
		snap, err := w.client.Read(t.Context(), t.Name())
		require.NoError(t, err)
		return len(snap.Messages) == 10 && strings.Contains(snap.Messages[8].Content, "outcome unknown")
	})
	other.kill()

	require.NoError(t, frozen.cmd.Process.Signal(syscall.SIGCONT))
	require.Equal(t, "2\n", w.must("send", t.Name(), "count"), "the call that was given up did not run")
	w.once()
}

// A tool that takes its worker down is not run for ever, however soon it does.
func TestToolThatKillsItsWorkerIsGivenUp(t *testing.T) {
	t.Parallel()
	tools := newToolServer(t)
	var workers *crew
	tools.add("read", readOnly, func(context.Context, effect) (string, error) {
		workers.kill(0)
		return "", nil
	})
	w := newWorld(t, script(llmtest.Call(llmtest.ToolCall("1", "read", `{}`)), llmtest.Say("I give up.")), tools, "")
	workers = newCrew(w, 1, newLedger(), nil, "worker")
	w.must("run", "--detach", "--id", t.Name(), "read")
	w.finished(t.Name(), "I give up.")
	require.Equal(t, []int{5}, values(tools.effects()))
	require.Equal(t, 5, workers.died())
	require.Contains(t, w.show(t.Name()).lines()[2], "interrupted")
}

// A model call that takes its worker down is not paid for without end, however soon it does: the turn is held.
func TestModelCallThatKillsItsWorkerIsGivenUp(t *testing.T) {
	t.Parallel()
	var workers *crew
	w := newWorld(t, func(context.Context, llm.Request) (llm.Reply, error) {
		workers.kill(0)
		return llmtest.Say("nobody hears it"), nil
	}, nil, "")
	workers = newCrew(w, 1, newLedger(), nil, "worker")
	w.must("run", "--detach", "--id", t.Name(), "--chat", "hello")
	w.eventually("the turn is held", func() bool {
		snap, err := w.client.Read(t.Context(), t.Name())
		return err == nil && snap.Held != nil && snap.Held.Class == protocol.WorkerLost
	})
	require.Len(t, w.model.Requests(), 5)
}

// A worker with a folder reports after a crash what had arrived before it.
func TestKeptResultOutlivesItsWorker(t *testing.T) {
	t.Parallel()
	program, err := faultyWorker()
	require.NoError(t, err)
	armed, keep := t.TempDir(), filepath.Join(t.TempDir(), "keep")
	tools := newToolServer(t)
	tools.add("pay", nil, echo)
	w := newWorld(t, script(llmtest.Call(llmtest.ToolCall("1", "pay", `{"n":1}`)), llmtest.Say("done")), tools, "")
	dies := func(p fault.Point) *process {
		require.NoError(t, fault.Arm(armed, p, 0))
		cmd := w.command(program, "--config", w.config, "--keep", keep)
		cmd.Env = append(cmd.Env, fault.Env+"="+armed)
		return w.startCommand(cmd)
	}
	first := dies(fault.ModelAnswered)
	w.must("run", "--detach", "--id", t.Name(), "pay")
	w.eventually("the worker dies with the model's reply", first.ended)
	second := dies(fault.ToolAnswered)
	w.eventually("the worker dies with the tool's result", second.ended)
	w.worker("--keep", keep)
	w.finished(t.Name(), "done")
	require.Equal(t, []string{"user: pay", `assistant: [pay {"n":1}]`, `tool: did {"n":1}`, "assistant: done"}, w.show(t.Name()).lines())
	w.once()
	files, err := os.ReadDir(keep)
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		info, err := file.Info()
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode())
	}
}
