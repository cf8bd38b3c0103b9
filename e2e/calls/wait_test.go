package calls_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/converter"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/history"
	"github.com/reagent-dev/reagent/workflows"
)

// waitMarks returns the summaries of the markers of waits in the history of a run. The run must have no timer.
func waitMarks(w *world.World, id, run string) (summaries []string) {
	for event, err := range history.Events(w.T.Context(), w.Temporal, agent.RunRef{ID: id, RunID: run}) {
		require.NoError(w.T, err)
		require.NotEqual(w.T, enumspb.EVENT_TYPE_TIMER_STARTED, event.GetEventType())
		if event.GetMarkerRecordedEventAttributes().GetMarkerName() == workflows.WaitMarker {
			var summary string
			require.NoError(w.T, converter.GetDefaultDataConverter().FromPayload(event.GetUserMetadata().GetSummary(), &summary))
			if strings.Contains(summary, "wait") { // and not the marker of a reset
				summaries = append(summaries, summary)
			}
		}
	}
	return summaries
}

// The history of a run has one marker for the calls that begin to wait together, and no timer. This holds after another worker has
// replayed the run, after a continue-as-new, and after a reset before the wait and in the middle of it.
func TestWaitIsInTheHistoryOfEachRunOnce(t *testing.T) {
	t.Parallel()
	w, paid := payWorld(t, 3)
	first := w.Worker()
	id := t.Name()
	w.Must("run", "--detach", "--id", id, "pay")
	wait := func(calls int) {
		w.Eventually("the calls wait", func() bool { return len(inboxOf(w, id)) == calls })
	}
	wait(3)
	begins := w.TaskCount(id, "") // the newest task is that in which the wait began
	three := []string{`3 calls wait · approval: pay {"n":0} · approval: pay {"n":1} · approval: pay {"n":2}`}
	require.Equal(t, three, waitMarks(w, id, ""))

	first.Kill()
	w.Worker()
	w.Must("deny", id, inboxOf(w, id)[0].Handle)
	wait(2)
	require.Equal(t, three, waitMarks(w, id, ""))

	run := w.RunID(id)
	w.Roll(id)
	wait(2)
	two := []string{`2 calls wait · approval: pay {"n":1} · approval: pay {"n":2}`}
	require.Equal(t, two, waitMarks(w, id, ""))
	w.Must("deny", id, inboxOf(w, id)[0].Handle)
	wait(1)
	require.Equal(t, two, waitMarks(w, id, ""))

	w.Reset(id, "", w.TaskCount(id, "")) // in the middle of the wait: the marker is copied
	wait(1)
	require.Equal(t, two, waitMarks(w, id, ""))

	w.Reset(id, run, begins) // before the wait
	w.Eventually("the calls wait", func() bool { return len(waitMarks(w, id, "")) == 1 && len(inboxOf(w, id)) > 0 })
	w.Must("approve", id, "--all")
	w.Finished(id, "done")
	require.Len(t, waitMarks(w, id, ""), 1)
	require.NotEmpty(t, paid())
	w.NothingTwice()
}
