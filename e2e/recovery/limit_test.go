package recovery_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// A model call ends at the time limit of its turn. The endpoint notices it, and the history has no timer.
func TestTimeLimitEndsAModelCallWithoutATimer(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	w := world.New(t, func(ctx context.Context, _ llm.Request) (llm.Reply, error) {
		<-ctx.Done()
		ended <- ctx.Err()
		return llm.Reply{}, ctx.Err()
	}, nil, "    limits: {time: 2s}\n")
	w.Worker()
	w.Must("run", "--detach", "-a", "x", "--id", t.Name(), "think")
	w.Eventually("the agent stops", func() bool { return w.Show(t.Name()).Status == "completed" })
	require.Contains(t, w.Show(t.Name()).Lines()[1], "this turn reached its time limit of 2 seconds (limits.time)")
	select {
	case <-ended:
	case <-t.Context().Done():
		t.Fatal("the request goes on")
	}
	require.Zero(t, timers(t, w, t.Name()))
}

// The time limit of a turn begins again with a reset, because the agent was not at work in the meantime. Nothing runs twice.
func TestTimeLimitBeginsAgainWithAReset(t *testing.T) {
	t.Parallel()
	const limit = 4 * time.Second
	var g atomic.Pointer[world.Gate]
	tools := world.NewToolServer(t)
	tools.Add("pay", nil, func(ctx context.Context, _ world.Effect) (string, error) { return "paid", g.Load().Pass(ctx) })
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		if world.Asked(req) == 0 {
			return llmtest.Call(llmtest.ToolCall("1", "pay", `{}`)), nil
		}
		return llmtest.Say("done"), nil
	}, tools, fmt.Sprintf("    limits: {time: %v}\n", limit))
	w.Worker()
	for _, task := range []int{2, 3, 4} { // before the model call, before the tool call, and while the tool runs
		g.Store(world.NewGate())
		id := fmt.Sprint(t.Name(), task)
		w.Must("run", "--detach", "-a", "x", "--id", id, fmt.Sprint("pay ", task))
		g.Load().Wait(t)
		began := time.Now()
		w.Must("send", "--detach", "--next", id, "and then?")
		close(g.Load().Open)
		w.Finished(id, "done")
		w.Eventually("the time limit has passed", func() bool { return time.Since(began) > limit })
		w.Reset(id, "", task)
		w.Finished(id, "done")
		require.Equal(t, "tool: paid", w.Show(id).Lines()[2])
		// The worker refuses the call that the reset copied, and says why. Otherwise Temporal would wait for its heartbeats.
		if task == 4 {
			require.NotZero(t, count(t, w, id, func(event *historypb.HistoryEvent) bool {
				return event.GetActivityTaskFailedEventAttributes().GetFailure().GetApplicationFailureInfo().GetType() == protocol.OutOfTime
			}))
		}
	}
	w.NothingTwice()
}

// timers returns how many timers the newest run of an agent has started.
func timers(t *testing.T, w *world.World, id string) int {
	t.Helper()
	return count(t, w, id, func(event *historypb.HistoryEvent) bool {
		return event.GetEventType() == enumspb.EVENT_TYPE_TIMER_STARTED
	})
}

// count returns how many events of the newest run of an agent are such as the caller counts.
func count(t *testing.T, w *world.World, id string, counts func(*historypb.HistoryEvent) bool) int {
	t.Helper()
	n := 0
	events := w.Temporal.GetWorkflowHistory(t.Context(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		require.NoError(t, err)
		if counts(event) {
			n++
		}
	}
	return n
}
