package world

import (
	"fmt"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/history"
)

// RunID returns the ID of the newest run of an agent.
func (w *World) RunID(id string) string {
	found, err := w.Temporal.DescribeWorkflowExecution(w.T.Context(), id, "")
	require.NoError(w.T, err)
	return found.GetWorkflowExecutionInfo().GetExecution().GetRunId()
}

// Runs returns the number of runs that the agent with the given ID has had. It waits until Temporal lists the agent.
func (w *World) Runs(id string) int {
	n := 0
	w.Eventually("Temporal lists "+id, func() bool {
		found, err := w.Temporal.CountWorkflow(w.T.Context(), &workflowservice.CountWorkflowExecutionsRequest{Query: fmt.Sprintf("WorkflowId = %q", id)})
		require.NoError(w.T, err)
		n = int(found.GetCount())
		return n > 0
	})
	return n
}

// TaskCount returns the number of completed workflow tasks of a run. An empty run ID means the newest run.
func (w *World) TaskCount(id, run string) int {
	n := 0
	for event, err := range history.Events(w.T.Context(), w.Temporal, agent.RunRef{ID: id, RunID: run}) {
		require.NoError(w.T, err)
		if event.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			n++
		}
	}
	return n
}

// TaskEnd returns the ID of the event with which a completed workflow task of a run ended. The parameter task is the number of the task,
// counted from 1. An empty run ID means the newest run.
func (w *World) TaskEnd(id, run string, task int) int64 {
	n := 0
	for event, err := range history.Events(w.T.Context(), w.Temporal, agent.RunRef{ID: id, RunID: run}) {
		require.NoError(w.T, err)
		if event.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			if n++; n == task {
				return event.GetEventId()
			}
		}
	}
	require.FailNow(w.T, "the run has fewer tasks", "%d of %d", n, task)
	return 0
}

// Reset resets a run to one of its completed workflow tasks, and returns the ID of the new run. The parameter task is the
// number of the task, counted from 1. An empty run ID means the newest run.
func (w *World) Reset(id, run string, task int) string {
	finish := w.TaskEnd(id, run, task)
	out, err := w.Temporal.ResetWorkflowExecution(w.T.Context(), &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: "default", WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: id, RunId: run},
		Reason: "test", WorkflowTaskFinishEventId: finish, RequestId: uuid.NewString(),
	})
	require.NoError(w.T, err)
	return out.GetRunId()
}

// Roll makes an agent continue in a new run, and waits until this run has begun. The agent must have no model or tool call in
// flight; it may wait for a sub-agent.
func (w *World) Roll(id string) {
	before := w.RunID(id)
	require.NoError(w.T, w.Client.Upgrade(w.T.Context(), id))
	w.Eventually("it goes on in a new run", func() bool { return w.RunID(id) != before })
}

// TerminateAgent terminates the newest run of an agent.
func (w *World) TerminateAgent(id string) {
	require.NoError(w.T, w.Temporal.TerminateWorkflow(w.T.Context(), id, "", "test"))
}
