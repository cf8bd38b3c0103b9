package recovery_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/app/devserver"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// hall counts the calls that come to it, and lets all of them wait until open is closed.
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

// errands is a world with several agents. Each agent calls the model, then the tool pay, then the model again. The
// first model calls wait in models, and the calls of the tool wait in pays: see [hall].
type errands struct {
	*world.World
	models, pays *hall
	ids          []string
}

func newErrands(t *testing.T, count int) *errands {
	e := &errands{models: newHall(), pays: newHall()}
	tools := world.NewToolServer(t)
	tools.Add("pay", nil, func(ctx context.Context, _ world.Effect) (string, error) { return "paid", e.pays.pass(ctx) })
	e.World = world.New(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		if world.Asked(req) > 0 {
			return llmtest.Say("done"), nil
		}
		return llmtest.Call(llmtest.ToolCall("1", "pay", `{}`)), e.models.pass(ctx)
	}, tools, "")
	for i := range count {
		e.ids = append(e.ids, fmt.Sprint(strings.ReplaceAll(t.Name(), "/", "-"), i))
	}
	return e
}

// start starts the agents, and waits until all of their first model calls wait in the hall models.
func (e *errands) start() {
	for _, id := range e.ids {
		e.Must("run", "--detach", "--id", id, "pay "+id)
	}
	e.stand(e.models)
}

// stand waits until a call of each agent waits in the hall h.
func (e *errands) stand(h *hall) {
	e.Eventually("all calls are in flight", func() bool { return int(h.calls.Load()) == len(e.ids) })
}

// givenUp waits until each agent has a pending call of which Temporal has given up the first attempt.
func (e *errands) givenUp() {
	for _, id := range e.ids {
		e.Eventually("the attempt is given up", func() bool {
			found, err := e.Temporal.DescribeWorkflowExecution(e.T.Context(), id, "")
			require.NoError(e.T, err)
			for _, pending := range found.GetPendingActivities() {
				if pending.GetAttempt() > 1 {
					return true
				}
			}
			return false
		})
	}
}

// paidOnce waits until all agents have completed. It asserts that each agent has the result of the tool, and that
// nothing was done twice.
func (e *errands) paidOnce() {
	for _, id := range e.ids {
		e.Finished(id, "done")
		require.Equal(e.T, []string{"user: pay " + id, "assistant: [pay {}]", "tool: paid", "assistant: done"}, e.Show(id).Lines())
	}
	e.NothingTwice()
	require.Len(e.T, e.Requests(), 2*len(e.ids))
	require.Len(e.T, e.Tools.Effects(), len(e.ids))
}

// A worker's calls may be running while its network fails, or may end meanwhile. The worker reports their results when
// the network works again, and no call is repeated.
func TestNetworkFailureRepeatsNothing(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(*world.Proxy){"stall": (*world.Proxy).Stall, "cut": (*world.Proxy).Cut} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newErrands(t, 10)
			p := world.NewProxy(t, e.Address)
			direct := e.Address
			e.Address = p.Address()
			e.Worker("--heartbeat-timeout", "3s") // no other worker returns the calls
			e.Address = direct
			e.start()

			fail(p)
			e.givenUp()
			p.Restore()
			close(e.models.open) // the calls began before the failure and end after it
			e.stand(e.pays)

			fail(p)
			close(e.pays.open) // the calls end during the failure
			e.givenUp()
			p.Restore()
			e.paidOnce()
		})
	}
}

// A worker's calls may be running while the Temporal server is killed, or may end meanwhile. When the server runs again
// with its data, the worker reports their results, and no call is repeated.
func TestServerCrashRepeatsNothing(t *testing.T) {
	t.Parallel()
	e := newErrands(t, 10)
	options := devserver.Options{DBFilename: filepath.Join(t.TempDir(), "crash.db"), Port: world.FreePort(t)}
	own, err := devserver.Start(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(func() { own.Stop() })
	e.MoveTo(own)
	crash := func() {
		require.NoError(t, syscall.Kill(own.PID(), syscall.SIGKILL))
		<-own.Done()
	}
	restart := func() {
		own, err = devserver.Start(t.Context(), options)
		require.NoError(t, err)
	}
	e.Worker()
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

// A worker process may be suspended when Temporal gives it a call, and Temporal then gives up this attempt. When the
// worker continues, it does not make the call.
func TestFrozenWorkerSendsNothingLate(t *testing.T) {
	t.Parallel()
	w := counterWorld(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		last := req.Messages[len(req.Messages)-1]
		if last.Content == "count" {
			return llmtest.Call(llmtest.ToolCall("1", "count", `{}`)), nil
		}
		return llmtest.Say(last.Content), nil
	})
	w.Worker("--stateful", "none")
	w.Must("run", "--chat", "--id", t.Name(), "hello") // so that the first worker has the workflow in its cache
	frozen := w.Worker()
	require.Equal(t, "1\n", w.Must("send", t.Name(), "count"))

	require.NoError(t, frozen.Cmd.Process.Signal(syscall.SIGSTOP))
	w.Must("send", "--detach", t.Name(), "count")
	w.Eventually("the call is given up", func() bool {
		found, err := w.Temporal.DescribeWorkflowExecution(t.Context(), t.Name(), "")
		require.NoError(t, err)
		for _, pending := range found.GetPendingActivities() {
			if pending.GetActivityType().GetName() == protocol.CallTool && pending.GetAttempt() > 1 {
				return true
			}
		}
		return false
	})
	other := w.Worker()
	w.Eventually("the model is told that the call may have run", func() bool {
		// Read the history, because Temporal may give a query to the frozen worker.
		snap, err := w.Client.ShowRecorded(t.Context(), t.Name())
		require.NoError(t, err)
		return len(snap.Messages) == 10 && strings.Contains(snap.Messages[8].Content, "outcome unknown")
	})
	other.Kill()

	require.NoError(t, frozen.Cmd.Process.Signal(syscall.SIGCONT))
	require.Equal(t, "2\n", w.Must("send", t.Name(), "count"), "the call that was given up did not run")
	w.NothingTwice()
}
