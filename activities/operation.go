package activities

import (
	"errors"

	"github.com/reagent-dev/reagent/activities/internal/attempt"
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/telemetry"
	"github.com/reagent-dev/reagent/tool"
)

// operation returns what the spans of an activity have in common. `parent` is the traceparent of the turn.
func operation(beat *attempt.Attempt, parent string) telemetry.Operation {
	info := beat.Info()
	return telemetry.Operation{
		Parent: parent, AgentID: info.WorkflowExecution.ID, RunID: info.WorkflowExecution.RunID, Key: agent.Key(info.ActivityID), Attempt: beat.Tries(),
	}
}

// failure returns the value of the attribute error.type for a tool call; "" for a result that is no error. `ended` says that the time of the
// call was over, or that it was cancelled.
func failure(r tool.Result, err error, ended bool) string {
	switch {
	case errors.Is(err, tool.ErrOutcomeUnknown), err != nil && ended:
		return "outcome_unknown"
	case err != nil:
		return "not_run"
	case r.IsError:
		return "tool_error"
	}
	return ""
}
