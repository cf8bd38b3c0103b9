package recovery_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// If a worker with a lease dies, all its calls are made again at once on another worker, each once. The calls themselves have
// sent no heartbeat.
func TestLeaseReturnsTheCallsOfALostWorker(t *testing.T) {
	t.Parallel()
	const agents = 5
	var lost atomic.Bool
	w := world.New(t, func(ctx context.Context, _ llm.Request) (llm.Reply, error) {
		if lost.Load() {
			return llmtest.Say("done"), nil
		}
		<-ctx.Done()
		return llm.Reply{}, ctx.Err()
	}, nil, "")
	first := w.Worker("--lease")
	for n := range agents {
		w.Must("run", "--detach", "--id", fmt.Sprint(t.Name(), n), "go")
	}
	w.Eventually("the lease names the model calls", func() bool { return held(t, w, "model-") == agents })
	lost.Store(true)
	first.Kill()
	w.Worker("--lease")
	for n := range agents {
		w.Finished(fmt.Sprint(t.Name(), n), "done")
		require.Equal(t, protocol.LeaseLost, lastFailure(t, w, fmt.Sprint(t.Name(), n)))
		require.Equal(t, 1, w.Show(fmt.Sprint(t.Name(), n)).Usage["lost_attempts"])
	}
	for key, n := range w.Requests() {
		require.Equal(t, 2, n, key)
	}
}

// A worker with a lease may be suspended before it sends a request, and another worker then makes the call. When the suspended
// worker continues, it does not send the request.
func TestSuspendedWorkerWithALeaseSendsNothingLate(t *testing.T) {
	t.Parallel()
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		reply := llmtest.Say(req.Messages[len(req.Messages)-1].Content)
		reply.Usage = llm.Usage{InputTokens: 900, OutputTokens: 1}
		return reply, nil
	}, nil, "")
	// The second request of each worker waits for about 40 seconds, until the limit of tokens allows it. A busy machine needs some of them.
	w.WriteConfig(fmt.Sprintf("task_queue: %s\nmodels:\n  main: {model: scripted, base_url: %q, rate: {tokens_per_minute: 100}}\nagents:\n  x: {model: main}\n",
		w.Queue, w.Model.URL))
	frozen := w.Worker("--lease")
	w.Must("run", "--chat", "--id", t.Name(), "one")
	first := w.Requests()
	require.Len(t, first, 1)
	w.Must("send", "--detach", t.Name(), "two")
	w.Eventually("the lease names the second model call", func() bool {
		// Temporal may still have the last heartbeat of the first.
		return slices.ContainsFunc(heldCalls(t, w), func(id string) bool { return strings.HasPrefix(id, "model-") && first[id] == 0 })
	})
	require.NoError(t, frozen.Cmd.Process.Signal(syscall.SIGTERM)) // so that it asks Temporal for no other task
	w.Eventually("the worker takes no new work", func() bool { return strings.Contains(frozen.Output(), "Stopping") })
	require.NoError(t, frozen.Cmd.Process.Signal(syscall.SIGSTOP))
	w.Worker("--lease")
	returned := false
	w.Eventually("the other worker makes the call", func() bool {
		// The polls of the suspended worker are still open, so Temporal may give it the next attempts, which time out. The last failure
		// in the history is then a timeout.
		returned = returned || pendingFailure(t, w, t.Name()) == protocol.LeaseLost
		// Read the history, because Temporal may give a query to the frozen worker.
		snap, err := w.Client.ShowRecorded(t.Context(), t.Name())
		require.NoError(t, err)
		return len(snap.Messages) == 4
	})
	require.True(t, returned || lastFailure(t, w, t.Name()) == protocol.LeaseLost)
	require.NoError(t, frozen.Cmd.Process.Signal(syscall.SIGCONT))
	w.Eventually("the suspended worker ends", frozen.Ended)
	w.NothingTwice()
}

// A lease ends soon after the last call of its worker, and when its worker stops.
func TestLeaseEndsWithItsCalls(t *testing.T) {
	t.Parallel()
	w := world.New(t, world.Counting, nil, "")
	worker := w.Worker("--lease")
	w.Worker() // serves the workflows of leases whose workers have stopped
	w.Must("run", "--chat", "--id", t.Name(), "one")
	w.Eventually("the lease ends", func() bool { return len(leases(t, w, "Running")) == 0 && len(leases(t, w, "Completed")) > 0 })
	w.Must("send", t.Name(), "two")
	worker.Terminate()
	w.Eventually("the worker's lease ends", func() bool { return len(leases(t, w, "Running")) == 0 })
	require.ElementsMatch(t, leases(t, w, "Completed"), leases(t, w, ""))
}

// held returns how many calls the running leases of a world name. The IDs of the calls begin with the given prefix.
func held(t *testing.T, w *world.World, prefix string) int {
	t.Helper()
	return len(slices.DeleteFunc(heldCalls(t, w), func(id string) bool { return !strings.HasPrefix(id, prefix) }))
}

// heldCalls returns the IDs of the calls that the running leases of a world name.
func heldCalls(t *testing.T, w *world.World) (ids []string) {
	t.Helper()
	for _, id := range leases(t, w, "Running") {
		found, err := w.Temporal.DescribeWorkflowExecution(t.Context(), id, "")
		require.NoError(t, err)
		for _, p := range found.GetPendingActivities() {
			var calls protocol.HeldCalls
			if p.GetHeartbeatDetails() == nil {
				continue
			}
			require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(p.GetHeartbeatDetails(), &calls))
			for _, call := range calls.Calls {
				ids = append(ids, call.ActivityID)
			}
		}
	}
	return ids
}

// leases returns the IDs of the leases of a world that have the given status. An empty status means all.
func leases(t *testing.T, w *world.World, status string) (ids []string) {
	t.Helper()
	query := fmt.Sprintf("WorkflowType = %q AND TaskQueue = %q", protocol.LeaseWorkflow, w.Queue)
	if status != "" {
		query += fmt.Sprintf(" AND ExecutionStatus = %q", status)
	}
	found, err := w.Temporal.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Query: query})
	require.NoError(t, err)
	for _, e := range found.GetExecutions() {
		ids = append(ids, e.GetExecution().GetWorkflowId())
	}
	return ids
}

// lastFailure returns the type of the failure that came before the last attempt at an activity of an agent, if there was one.
func lastFailure(t *testing.T, w *world.World, id string) (class string) {
	t.Helper()
	events := w.Temporal.GetWorkflowHistory(t.Context(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		require.NoError(t, err)
		if failure := event.GetActivityTaskStartedEventAttributes().GetLastFailure(); failure != nil {
			class = failure.GetApplicationFailureInfo().GetType()
		}
	}
	return class
}

// pendingFailure returns the type of the last failure of an open activity of an agent, if there was one.
func pendingFailure(t *testing.T, w *world.World, id string) (class string) {
	t.Helper()
	found, err := w.Temporal.DescribeWorkflowExecution(t.Context(), id, "")
	require.NoError(t, err)
	for _, p := range found.GetPendingActivities() {
		class = p.GetLastFailure().GetApplicationFailureInfo().GetType()
	}
	return class
}
