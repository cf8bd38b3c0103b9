package children_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// A reset begins a run that is terminated before it completes a workflow task. It had received the answer of a sub-agent in the background,
// while another call of the same reply was open. A second reset does not take the answer for what the model was told.
func TestRunThatEndsBeforeItsFirstTaskTellsNothing(t *testing.T) {
	t.Parallel()
	gate := world.NewGate()
	tools := world.NewToolServer(t)
	tools.Add("pay", nil, world.Echo)
	w := world.New(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		switch last := req.Messages[len(req.Messages)-1]; {
		case req.Messages[0].Content == "You look.":
			return llmtest.Say("a red door"), gate.Pass(ctx)
		case last.Content == "look":
			return llmtest.Call(llmtest.ToolCall("1", "scout", `{"task":"look"}`), llmtest.ToolCall("2", "pay", `{}`)), nil
		case strings.HasPrefix(last.Content, "did "):
			return llmtest.Say("paid"), nil
		}
		return llmtest.Say("so be it"), nil
	}, tools, "    tools: [far.*]\n    approval: {far.pay: always}\n"+withScout)
	worker := w.Worker()
	id := t.Name()
	w.Must("run", "--detach", "--chat", "-a", "x", "--id", id, "look")
	gate.Wait(t)
	var scout string
	w.Eventually("the sub-agent is known", func() bool {
		for _, c := range w.Show(id).Children {
			scout = c.ID
		}
		return scout != ""
	})
	w.TerminateAgent(scout)
	terminated := 0
	w.Eventually("the parent has seen its end", func() bool {
		terminated = taskAfter(w, id, enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_TERMINATED)
		return terminated > 0
	})
	run := w.RunID(id)
	w.Must("approve", id)
	w.Transcript(id, 5) // the answer to the results, of which one says that the sub-agent works
	close(gate.Open)
	w.Must("resume", scout)
	want := w.Transcript(id, 7) // the answer of the sub-agent, and the reply
	worker.Terminate()

	w.Reset(id, run, terminated)
	w.TerminateAgent(id)
	w.Reset(id, run, terminated)
	w.Worker()
	w.Eventually("the answer of the sub-agent is told", func() bool {
		s := w.Show(id)
		return s.Status == "waiting" && strings.Contains(strings.Join(s.Lines(), "\n"), "a red door")
	})
	require.Equal(t, want, w.Show(id).Lines())
	w.NothingTwice()
}

// taskAfter returns the number of the first completed workflow task after an event of the given type; 0 if there is none.
func taskAfter(w *world.World, id string, event enumspb.EventType) int {
	run, tasks, seen := w.RunID(id), 0, false
	events := w.Temporal.GetWorkflowHistory(w.T.Context(), id, run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		require.NoError(w.T, err)
		seen = seen || e.GetEventType() == event
		if e.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			if tasks++; seen {
				return tasks
			}
		}
	}
	return 0
}
