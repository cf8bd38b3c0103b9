package history_test

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
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// The results of all calls of one reply fit into one run of the agent, however large the tools' answers are. They also
// fit after a resume or a reset. Without a limit, Temporal would end the workflow at 50 MB.
func TestBatchOfLargeResultsFitsIntoARun(t *testing.T) {
	t.Parallel()
	const calls = 60
	tools := world.NewToolServer(t)
	var held atomic.Pointer[world.Gate]
	tools.Add("read", world.ReadOnly, func(ctx context.Context, e world.Effect) (string, error) {
		var n int
		_, _ = fmt.Sscanf(e.Arguments, `{"n":%d}`, &n)
		if g := held.Load(); g != nil && n >= calls/2 {
			if err := g.Pass(ctx); err != nil {
				return "", err
			}
		}
		return strings.Repeat(fmt.Sprintf("result %03d;", n), 1_000_000/11), nil
	})
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		last := req.Messages[len(req.Messages)-1]
		switch {
		case world.Asked(req) == 0:
			var batch []llm.ToolCall
			for n := range calls {
				batch = append(batch, llmtest.ToolCall(fmt.Sprint(n), "read", fmt.Sprintf(`{"n":%d}`, n)))
			}
			return llmtest.Call(batch...), nil
		case world.Asked(req) == 1: // the model reads on where the last result was cut
			handle := last.Content[strings.Index(last.Content, `"handle": "`)+len(`"handle": "`):]
			return llmtest.Call(llmtest.ToolCall("r", "read_result", fmt.Sprintf(`{"handle":%q,"offset":70000,"length":1000000}`, handle[:8]))), nil
		}
		return llmtest.Say(last.Content[:17]), nil
	}, tools, "    tools: [far.*, read_result]\n")
	w.Worker()
	const answer = "bytes 70000 to 13"

	whole := t.Name() + "-whole"
	w.Must("run", "--detach", "--id", whole, "read")
	w.Finished(whole, answer)
	require.Len(t, tools.Effects(), calls)

	first := t.Name() + "-resumed"
	g := world.NewGate()
	held.Store(g)
	w.Must("run", "--detach", "--id", first, "read", "again")
	w.Eventually("all results but one are there", func() bool {
		s, err := w.Client.Show(t.Context(), first)
		return err == nil && len(s.Pending) == 1
	})
	require.NoError(t, w.Temporal.TerminateWorkflow(t.Context(), first, "", "test"))
	close(g.Open)
	w.Must("resume", "--detach", first)
	w.Finished(first, answer)

	want := w.Show(whole).Lines()
	run := w.RunID(whole)
	w.Reset(whole, firstRun(w, whole), 1)
	w.Eventually("it is where it was", func() bool {
		look, err := w.Client.Describe(t.Context(), whole)
		return err == nil && look.Status.Ended() && w.RunID(whole) != run
	})
	require.Equal(t, want, w.Show(whole).Lines())
	for key, n := range w.Requests() {
		require.Equal(t, 1, n, "request %s", key)
	}
	for _, id := range []string{whole, first} {
		for run, size := range historySizes(w, id) {
			t.Logf("%s, run %s: %.1f MB", id, run, float64(size)/1e6)
			require.Less(t, size, int64(10_000_000))
		}
	}
}

// historySizes returns the sizes in bytes of the histories of an agent's runs. The keys of the map are the IDs of the
// runs.
func historySizes(w *world.World, id string) map[string]int64 {
	sizes := map[string]int64{}
	listed, err := w.Temporal.ListWorkflow(w.T.Context(), &workflowservice.ListWorkflowExecutionsRequest{Query: fmt.Sprintf("WorkflowId = %q", id)})
	require.NoError(w.T, err)
	for _, info := range listed.GetExecutions() {
		found, err := w.Temporal.DescribeWorkflowExecution(w.T.Context(), id, info.GetExecution().GetRunId())
		require.NoError(w.T, err)
		sizes[info.GetExecution().GetRunId()] = found.GetWorkflowExecutionInfo().GetHistorySizeBytes()
	}
	return sizes
}

// firstRun returns the ID of the first run of an agent.
func firstRun(w *world.World, id string) string {
	events := w.Temporal.GetWorkflowHistory(w.T.Context(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	require.True(w.T, events.HasNext())
	event, err := events.Next()
	require.NoError(w.T, err)
	return event.GetWorkflowExecutionStartedEventAttributes().GetFirstExecutionRunId()
}

// If a reply has thousands of calls, only the first of them run, and only a few at the same time. The agent can still
// be shown and cancelled, and the worker serves other agents.
func TestAttackReplyWithManyCalls(t *testing.T) {
	t.Parallel()
	tools := world.NewToolServer(t)
	open := make(chan struct{})
	tools.Add("read", world.ReadOnly, func(ctx context.Context, _ world.Effect) (string, error) {
		select {
		case <-open:
			return "ok", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		switch {
		case req.Messages[0].Content == "hello":
			return llmtest.Say("hello"), nil
		case world.Asked(req) == 0:
			var batch []llm.ToolCall
			for n := range 2500 {
				batch = append(batch, llmtest.ToolCall(fmt.Sprint(n), "read", fmt.Sprintf(`{"n":%d}`, n)))
			}
			return llmtest.Call(batch...), nil
		}
		return llmtest.Say("done"), nil
	}, tools, "")
	w.Worker()
	first, second := t.Name()+"-cancelled", t.Name()+"-whole"
	for _, id := range []string{first, second} {
		w.Must("run", "--detach", "--id", id, "read", "all")
		w.Eventually("as many calls run as may", func() bool { return pendingActivities(w, id) == agent.CallsAtOnce })
		require.Len(t, w.Show(id).Pending, agent.DefaultCallsPerReply)
	}
	require.Contains(t, w.Must("run", "--id", t.Name()+"-other", "hello"), "hello\n")
	w.Must("cancel", first)
	w.Eventually("it is cancelled", func() bool { return w.Show(first).Status == "cancelled" })
	close(open)
	w.Finished(second, "done")

	running, most := map[int64]bool{}, 0
	events := w.Temporal.GetWorkflowHistory(t.Context(), second, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
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
	read, err := w.Client.ShowRecorded(t.Context(), second)
	require.NoError(t, err)
	require.Len(t, read.Messages, 2503)
	require.Equal(t, "ok", read.Messages[101].Content)
	require.Contains(t, read.Messages[102].Content, "limits.calls_per_reply")
}

// pendingActivities returns the number of activities of an agent that have not ended.
func pendingActivities(w *world.World, id string) int {
	found, err := w.Temporal.DescribeWorkflowExecution(w.T.Context(), id, "")
	require.NoError(w.T, err)
	return len(found.GetPendingActivities())
}
