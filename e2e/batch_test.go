package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// The results of one batch of calls have to fit into one run of the agent, whatever the tools answer, and also into the
// run that goes on after a termination or a reset: Temporal ends a workflow at 50 MB.
func TestBatchOfLargeResultsFitsIntoARun(t *testing.T) {
	t.Parallel()
	const calls = 60
	tools := newToolServer(t)
	var held atomic.Pointer[gate]
	tools.add("read", readOnly, func(ctx context.Context, e effect) (string, error) {
		var n int
		_, _ = fmt.Sscanf(e.Arguments, `{"n":%d}`, &n)
		if g := held.Load(); g != nil && n >= calls/2 {
			if err := g.pass(ctx); err != nil {
				return "", err
			}
		}
		return strings.Repeat(fmt.Sprintf("result %03d;", n), 1_000_000/11), nil
	})
	w := newWorld(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		last := req.Messages[len(req.Messages)-1]
		switch {
		case asked(req) == 0:
			var batch []llm.ToolCall
			for n := range calls {
				batch = append(batch, llmtest.ToolCall(fmt.Sprint(n), "read", fmt.Sprintf(`{"n":%d}`, n)))
			}
			return llmtest.Call(batch...), nil
		case asked(req) == 1: // reads on where the last result was cut
			handle := last.Content[strings.Index(last.Content, `"handle": "`)+len(`"handle": "`):]
			return llmtest.Call(llmtest.ToolCall("r", "read_result", fmt.Sprintf(`{"handle":%q,"offset":70000,"length":1000000}`, handle[:8]))), nil
		}
		return llmtest.Say(last.Content[:17]), nil
	}, tools, "    tools: [far.*, read_result]\n")
	w.worker()
	const answer = "bytes 70000 to 13"

	whole := t.Name() + "-whole"
	w.must("run", "--detach", "--id", whole, "read")
	w.finished(whole, answer)
	require.Len(t, tools.effects(), calls)

	first := t.Name() + "-resumed"
	g := newGate()
	held.Store(g)
	w.must("run", "--detach", "--id", first, "read", "again")
	w.eventually("all results but one are there", func() bool {
		s, err := w.client.Show(t.Context(), first)
		return err == nil && len(s.Pending) == 1
	})
	require.NoError(t, w.temporal.TerminateWorkflow(t.Context(), first, "", "test"))
	close(g.open)
	w.must("resume", "--detach", first)
	w.finished(first, answer)

	want := w.show(whole).lines()
	run := w.runID(whole)
	w.reset(whole, w.firstRun(whole), 1)
	w.eventually("it is where it was", func() bool {
		look, err := w.client.Look(t.Context(), whole)
		return err == nil && look.Status.Ended() && w.runID(whole) != run
	})
	require.Equal(t, want, w.show(whole).lines())
	for key, n := range w.requests() {
		require.Equal(t, 1, n, "request %s", key)
	}
	for _, id := range []string{whole, first} {
		for run, size := range w.historySizes(id) {
			t.Logf("%s, run %s: %.1f MB", id, run, float64(size)/1e6)
			require.Less(t, size, int64(10_000_000))
		}
	}
}

// historySizes returns the sizes of the histories of all runs of an agent, in bytes.
func (w *world) historySizes(id string) map[string]int64 {
	sizes := map[string]int64{}
	listed, err := w.temporal.ListWorkflow(w.t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Query: fmt.Sprintf("WorkflowId = %q", id)})
	require.NoError(w.t, err)
	for _, info := range listed.GetExecutions() {
		found, err := w.temporal.DescribeWorkflowExecution(w.t.Context(), id, info.GetExecution().GetRunId())
		require.NoError(w.t, err)
		sizes[info.GetExecution().GetRunId()] = found.GetWorkflowExecutionInfo().GetHistorySizeBytes()
	}
	return sizes
}

// firstRun returns the ID of the run with which an agent began.
func (w *world) firstRun(id string) string {
	events := w.temporal.GetWorkflowHistory(w.t.Context(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	require.True(w.t, events.HasNext())
	event, err := events.Next()
	require.NoError(w.t, err)
	return event.GetWorkflowExecutionStartedEventAttributes().GetFirstExecutionRunId()
}

// A reply with thousands of calls hurts nobody: the first calls run, some at a time, and the agent stays within reach.
func TestAttackReplyWithManyCalls(t *testing.T) {
	t.Parallel()
	tools := newToolServer(t)
	open := make(chan struct{})
	tools.add("read", readOnly, func(ctx context.Context, _ effect) (string, error) {
		select {
		case <-open:
			return "ok", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
	w := newWorld(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		switch {
		case req.Messages[0].Content == "hello":
			return llmtest.Say("hello"), nil
		case asked(req) == 0:
			var batch []llm.ToolCall
			for n := range 2500 {
				batch = append(batch, llmtest.ToolCall(fmt.Sprint(n), "read", fmt.Sprintf(`{"n":%d}`, n)))
			}
			return llmtest.Call(batch...), nil
		}
		return llmtest.Say("done"), nil
	}, tools, "")
	w.worker()
	first, second := t.Name()+"-cancelled", t.Name()+"-whole"
	for _, id := range []string{first, second} {
		w.must("run", "--detach", "--id", id, "read", "all")
		w.eventually("as many calls run as may", func() bool { return w.pendingActivities(id) == agent.CallsAtOnce })
		require.Len(t, w.show(id).Pending, agent.DefaultCallsPerReply)
	}
	require.Contains(t, w.must("run", "--id", t.Name()+"-other", "hello"), "hello\n")
	w.must("cancel", first)
	w.eventually("it is cancelled", func() bool { return w.show(first).Status == "cancelled" })
	close(open)
	w.finished(second, "done")

	running, most := map[int64]bool{}, 0
	events := w.temporal.GetWorkflowHistory(t.Context(), second, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		require.NoError(t, err)
		switch {
		case e.GetActivityTaskScheduledEventAttributes() != nil:
			running[e.GetEventId()] = true
		case e.GetActivityTaskCompletedEventAttributes() != nil:
			delete(running, e.GetActivityTaskCompletedEventAttributes().GetScheduledEventId())
		}
		most = max(most, len(running))
	}
	require.Equal(t, agent.CallsAtOnce, most)
	read, err := w.client.Read(t.Context(), second)
	require.NoError(t, err)
	require.Len(t, read.Messages, 2503)
	require.Equal(t, "ok", read.Messages[101].Content)
	require.Contains(t, read.Messages[102].Content, "limits.calls_per_reply")
}

// pendingActivities returns how many activities of an agent have not ended.
func (w *world) pendingActivities(id string) int {
	found, err := w.temporal.DescribeWorkflowExecution(w.t.Context(), id, "")
	require.NoError(w.t, err)
	return len(found.GetPendingActivities())
}

// A cancel comes before some of the sub-agents that the model asked for are started. There is nothing to show of those.
func TestSubAgentThatWasNeverStartedIsNotShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		if req.Messages[0].Content == "You count." {
			<-ctx.Done() // it is cancelled
			return llm.Reply{}, ctx.Err()
		}
		var batch []llm.ToolCall
		for n := range agent.CallsAtOnce + 3 {
			batch = append(batch, llmtest.ToolCall(fmt.Sprint(n), "clerk", fmt.Sprintf(`{"task":"count %d"}`, n)))
		}
		return llmtest.Call(batch...), nil
	}, nil, "    agents: [clerk]\n  clerk:\n    model: main\n    description: counts\n    instructions: You count.\n")
	w.worker()
	id := t.Name()
	w.must("run", "--detach", "-a", "x", "--id", id, "count")
	w.eventually("as many sub-agents run as may", func() bool { return len(w.requests()) == 1+agent.CallsAtOnce })
	require.Len(t, w.show(id).Children, agent.CallsAtOnce)
	w.must("cancel", id)
	w.eventually("it is cancelled", func() bool { return w.show(id).Status == "cancelled" })
	for _, child := range w.show(id).Children {
		w.eventually(child.ID+" is cancelled", func() bool { return w.show(child.ID).Status == "cancelled" })
	}
	require.Len(t, w.show(id).Children, agent.CallsAtOnce)
}
