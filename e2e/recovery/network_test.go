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
	"github.com/reagent-dev/reagent/internal/devserver"
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

// start starts the agents and waits until all are at their first model call.
func (e *errands) start() {
	for _, id := range e.ids {
		e.Must("run", "--detach", "--id", id, "pay "+id)
	}
	e.stand(e.models)
}

// stand waits until all agents stand in a hall.
func (e *errands) stand(h *hall) {
	e.Eventually("all calls are in flight", func() bool { return int(h.calls.Load()) == len(e.ids) })
}

// givenUp waits until Temporal has given up the attempts at all pending calls.
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

// paidOnce waits until all agents have completed, and asserts that each has its result and nothing was done twice.
func (e *errands) paidOnce() {
	for _, id := range e.ids {
		e.Finished(id, "done")
		require.Equal(e.T, []string{"user: pay " + id, "assistant: [pay {}]", "tool: paid", "assistant: done"}, e.Show(id).Lines())
	}
	e.NothingTwice()
	require.Len(e.T, e.Requests(), 2*len(e.ids))
	require.Len(e.T, e.Tools.Effects(), len(e.ids))
}

// What a worker has in flight when its network fails, or what arrives meanwhile, is reported when the network is back.
func TestNetworkFailureRepeatsNothing(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(*world.Proxy){"stall": (*world.Proxy).Stall, "cut": (*world.Proxy).Cut} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newErrands(t, 10)
			p := world.NewProxy(t, e.Address)
			direct := e.Address
			e.Address = p.Address()
			e.Worker()
			e.Address = direct
			e.start()

			fail(p)
			e.givenUp()
			p.Restore()
			close(e.models.open) // in flight from before the failure until after it
			e.stand(e.pays)

			fail(p)
			close(e.pays.open) // finished while the network is away
			e.givenUp()
			p.Restore()
			e.paidOnce()
		})
	}
}

// A server that dies and comes back on its data finds the workers with what they have in flight, and with
// what they have finished meanwhile.
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

// A worker that was frozen while it was given a call does not make it when it wakes up: Temporal has given it to
// another one meanwhile.
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
	w.Must("run", "--chat", "--id", t.Name(), "hello") // so that the workflow is cached there
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
		// From history: a query may be given to the frozen worker, too.
		snap, err := w.Client.Read(t.Context(), t.Name())
		require.NoError(t, err)
		return len(snap.Messages) == 10 && strings.Contains(snap.Messages[8].Content, "outcome unknown")
	})
	other.Kill()

	require.NoError(t, frozen.Cmd.Process.Signal(syscall.SIGCONT))
	require.Equal(t, "2\n", w.Must("send", t.Name(), "count"), "the call that was given up did not run")
	w.NothingTwice()
}
