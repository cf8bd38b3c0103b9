package client

import (
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/converter"

	"github.com/reagent-dev/reagent/activities"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/protocol"
)

// Retry is a call that failed and is tried again.
type Retry struct {
	// What says what is called: "model", "tool" or "definition".
	What string
	// Class is the type of the last failure, such as an [llm.Class]. It is "Timeout" if the worker of the attempt did not report in time.
	// Message is the text of the failure.
	Class   string
	Message string
	// Attempt is the number of the running or next attempt, counted from 1. Limit is the number of the last attempt. It is 0 if the
	// number of attempts is not limited, or if the limit is not known.
	Attempt int
	Limit   int
	// Next is the time at which the next attempt starts; zero while an attempt runs.
	Next time.Time
}

// retried maps the types of activities to [Retry.What]. It holds the activities with failures that people should see. The activity that
// waits for a sub-agent is not one of them, because it fails as long as the sub-agent runs.
var retried = map[string]string{
	protocol.CallModel: "model",
	protocol.CallTool:  "tool",
	protocol.LoadAgent: "definition",
}

// retry returns the first pending activity of the types in retried that has failed before; nil if there is none.
func (c *Client) retry(pending []*workflowpb.PendingActivityInfo) *Retry {
	for _, p := range pending {
		what, failure := retried[p.GetActivityType().GetName()], p.GetLastFailure()
		if what == "" || failure == nil || p.GetAttempt() < 2 {
			continue
		}
		converter.DecodeCommonFailureAttributes(c.converter, failure)
		r := &Retry{
			What: what, Class: failure.GetApplicationFailureInfo().GetType(), Message: failure.GetMessage(),
			Attempt: c.attempt(p),
		}
		if timeout := failure.GetTimeoutFailureInfo(); timeout != nil {
			r.Class, r.Message = "Timeout", protocol.TimeoutText(timeout.GetTimeoutType())
		}
		switch {
		case what == "model" && llm.Class(r.Class).Retryable():
			r.Limit = activities.MaxModelAttempts(llm.Class(r.Class))
		case what == "tool" && r.Class == protocol.Unavailable:
			r.Limit = activities.MaxToolAttempts
		}
		if r.Attempt > r.Limit {
			r.Limit = 0
		}
		// Next is set as long as no worker has taken the next attempt.
		if next := p.GetNextAttemptScheduleTime(); next != nil && p.GetState() == enumspb.PENDING_ACTIVITY_STATE_SCHEDULED {
			r.Next = next.AsTime()
		}
		return r
	}
	return nil
}

// attempt returns the number of the running or next attempt at the effect. It uses the count in the heartbeats of the activity. Temporal's
// number may be higher, because it includes attempts that failed before they called the model or the tool. It is used if there is no
// heartbeat.
func (c *Client) attempt(p *workflowpb.PendingActivityInfo) int {
	var said activities.Progress
	if p.GetHeartbeatDetails() == nil || c.converter.FromPayloads(p.GetHeartbeatDetails(), &said) != nil || said.Tried == 0 {
		return int(p.GetAttempt())
	}
	if said.Attempt == p.GetAttempt() {
		return said.Tried
	}
	return said.Tried + 1
}
