package history

import (
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
)

// Closes reports whether an event of the given type ends a run, that is, one execution of a workflow.
func Closes(t enumspb.EventType) bool {
	switch t {
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:
		return true
	}
	return breaksOff(t)
}

// breaksOff reports whether an event of the given type says that a run was terminated or timed out. Such a run ended from
// outside: its workflow could not handle the last events.
func breaksOff(t enumspb.EventType) bool {
	return t == enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED || t == enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT
}

// closeError returns the error with which a run ended; `e` is the run's last event. It returns nil if the run completed, continued as
// new, or has not ended. Only the error of a run that failed has details, which the data converter decodes.
func closeError(e *historypb.HistoryEvent, dc converter.DataConverter) error {
	switch e.GetEventType() {
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED:
		failures := temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{DataConverter: dc})
		return failures.FailureToError(e.GetWorkflowExecutionFailedEventAttributes().GetFailure())
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED:
		return temporal.NewCanceledError()
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED:
		return &temporal.TerminatedError{}
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT:
		return temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_START_TO_CLOSE, nil)
	}
	return nil
}
