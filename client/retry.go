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
	// What is tried: "model", "tool" or "definition".
	What string
	// Class is the type of the last failure, such as an [llm.Class], and Message its text. It is "Timeout" where the
	// attempt ended without an answer of its worker.
	Class   string
	Message string
	// Attempt is the number of the attempt that runs or comes next, counted from 1. Limit is the number of the last
	// attempt; 0 where time bounds them and not a number.
	Attempt int
	Limit   int
	// Next is the time at which the attempt starts; zero while it runs.
	Next time.Time
}

// retried are the activities whose failures concern a person. Waiting for a
// sub-agent fails as long as that one runs, which is no failure.
var retried = map[string]string{
	protocol.CallModel: "model",
	protocol.CallTool:  "tool",
	protocol.LoadAgent: "definition",
}

// retry returns the first of the pending activities that failed before, or nil.
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
		// Next is set as long as the attempt has not been given to a worker.
		if next := p.GetNextAttemptScheduleTime(); next != nil && p.GetState() == enumspb.PENDING_ACTIVITY_STATE_SCHEDULED {
			r.Next = next.AsTime()
		}
		return r
	}
	return nil
}

// attempt returns the number of the attempt at the effect that runs or comes next. The activity counts them in its heartbeats;
// Temporal's own number has also attempts that failed before they came to the model or the tool.
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
