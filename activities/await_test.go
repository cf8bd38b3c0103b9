package activities_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// A paused sub-agent has not ended. The parent asks again later, and the wait holds no slot of the worker.
func TestPausedSubAgentIsRunning(t *testing.T) {
	for _, status := range []enumspb.WorkflowExecutionStatus{enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, enumspb.WORKFLOW_EXECUTION_STATUS_PAUSED} {
		s := newStage(t, llmtest.Script())
		s.workflow.status = status
		_, err := s.ExecuteActivity(protocol.AwaitAgent, protocol.AwaitAgentInput{ID: "clerk"})
		var failure *temporal.ApplicationError
		require.ErrorAs(t, err, &failure)
		require.Equal(t, protocol.StillRunning, failure.Type())
	}
}

// An error that no later attempt can mend ends the activity at once.
func TestFinalErrorOfAwaitAgentIsNotRetried(t *testing.T) {
	for _, final := range []bool{true, false} {
		s := newStage(t, llmtest.Script())
		s.workflow.unknown = temporal.NewApplicationErrorWithOptions("no server", "NoServer", temporal.ApplicationErrorOptions{NonRetryable: final})
		_, err := s.ExecuteActivity(protocol.AwaitAgent, protocol.AwaitAgentInput{ID: "clerk"})
		var failure *temporal.ApplicationError
		require.ErrorAs(t, err, &failure)
		require.Equal(t, final, failure.NonRetryable())
		require.ErrorContains(t, err, "await agent clerk: describe the workflow: no server")
	}
}
