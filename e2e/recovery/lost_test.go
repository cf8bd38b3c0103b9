package recovery_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// If a worker dies, is suspended, or loses its network, the other workers return its calls, each once, and make them themselves. No call of a
// worker that lives is returned. When the lost worker comes back, it does nothing twice.
func TestCallsOfALostWorkerAreReturnedOnce(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*world.Process, *world.Proxy) (comeBack func()){
		"killed": func(p *world.Process, _ *world.Proxy) func() {
			p.Kill()
			return func() {}
		},
		"suspended": func(p *world.Process, _ *world.Proxy) func() {
			_ = p.Cmd.Process.Signal(syscall.SIGSTOP)
			return func() { _ = p.Cmd.Process.Signal(syscall.SIGCONT) }
		},
		"cut off": func(_ *world.Process, p *world.Proxy) func() {
			p.Cut()
			return p.Restore
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const agents = 5
			var lost atomic.Bool
			w := world.New(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
				last := req.Messages[len(req.Messages)-1].Content
				if last == "live" || lost.Load() {
					return llmtest.Say("done"), nil
				}
				<-ctx.Done()
				return llm.Reply{}, ctx.Err()
			}, nil, "")
			id := func(n int) string { return fmt.Sprint(strings.ReplaceAll(t.Name(), " ", "-"), n) }
			network := world.NewProxy(t, w.Address)
			direct := w.Address
			w.Address = network.Address()
			first := w.Worker()
			w.Address = direct
			for n := range agents {
				w.Must("run", "--detach", "--id", id(n), "go")
			}
			w.Eventually("all model calls are under way", func() bool { return len(w.Requests()) == agents })
			w.Worker()
			w.Worker()
			lost.Store(true)
			comeBack := lose(first, network)
			for n := range agents {
				w.Finished(id(n), "done")
				require.Len(t, failures(t, w, id(n)), 1)
				require.Contains(t, []string{protocol.CallReturned, protocol.CallMissed}, failures(t, w, id(n))[0])
			}
			for key, n := range w.Requests() {
				require.Equal(t, 2, n, key)
			}
			comeBack()
			for n := range agents {
				w.Must("run", "--id", id(agents+n), "live")
				require.Empty(t, failures(t, w, id(agents+n)))
			}
		})
	}
}

// failures returns the types of the failures that came before the last attempts at the activities of an agent.
func failures(t *testing.T, w *world.World, id string) (all []string) {
	t.Helper()
	events := w.Temporal.GetWorkflowHistory(t.Context(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		require.NoError(t, err)
		if failure := event.GetActivityTaskStartedEventAttributes().GetLastFailure(); failure != nil {
			all = append(all, failure.GetApplicationFailureInfo().GetType())
		}
	}
	return all
}

// A worker may be suspended before it sends a request, and another worker then makes the call. When the suspended worker continues, it does
// not send the request.
func TestSuspendedWorkerSendsNothingLate(t *testing.T) {
	t.Parallel()
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		reply := llmtest.Say(req.Messages[len(req.Messages)-1].Content)
		reply.Usage = llm.Usage{InputTokens: 900, OutputTokens: 1}
		return reply, nil
	}, nil, "")
	// The second request of each worker waits for about 40 seconds, until the limit of tokens allows it. A busy machine needs some of them.
	w.WriteConfig(fmt.Sprintf("task_queue: %s\nmodels:\n  main: {model: scripted, base_url: %q, rate: {tokens_per_minute: 100}}\nagents:\n  x: {model: main}\n",
		w.Queue, w.Model.URL))
	frozen := w.Worker()
	w.Must("run", "--chat", "--id", t.Name(), "one")
	w.Must("send", "--detach", t.Name(), "two")
	w.Eventually("the second model call has begun", func() bool { return len(pendingCalls(t, w, t.Name())) == 1 })
	require.NoError(t, frozen.Cmd.Process.Signal(syscall.SIGTERM)) // so that it asks Temporal for no other task
	w.Eventually("the worker takes no new work", func() bool { return strings.Contains(frozen.Output(), "Stopping") })
	require.NoError(t, frozen.Cmd.Process.Signal(syscall.SIGSTOP))
	w.Worker()
	w.Eventually("the other worker makes the call", func() bool {
		// Read the history, because Temporal may give a query to the frozen worker.
		snap, err := w.Client.ShowRecorded(t.Context(), t.Name())
		require.NoError(t, err)
		return len(snap.Messages) == 4
	})
	require.Subset(t, []string{protocol.CallReturned, protocol.CallMissed}, failures(t, w, t.Name()))
	require.NotEmpty(t, failures(t, w, t.Name()))
	require.NoError(t, frozen.Cmd.Process.Signal(syscall.SIGCONT))
	w.Eventually("the suspended worker ends", frozen.Ended)
	w.NothingTwice()
}

// pendingCalls returns the IDs of the calls of an agent that a worker has.
func pendingCalls(t *testing.T, w *world.World, id string) (ids []string) {
	t.Helper()
	found, err := w.Temporal.DescribeWorkflowExecution(t.Context(), id, "")
	require.NoError(t, err)
	for _, p := range found.GetPendingActivities() {
		if p.GetState() == enumspb.PENDING_ACTIVITY_STATE_STARTED {
			ids = append(ids, p.GetActivityId())
		}
	}
	return ids
}
