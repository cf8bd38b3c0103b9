package client

import (
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/converter"

	"github.com/reagent-dev/reagent/protocol"
)

// Retry is a call that failed and is tried again.
type Retry struct {
	// What is tried: "model", "tool" or "definition".
	What string
	// Class is the type of the last failure, such as an [llm.Class], and Message its words.
	Class   string
	Message string
	// Attempt is the number of the try that runs or comes next.
	Attempt int
	// Next is when it comes; zero while it runs.
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
			Attempt: int(p.GetAttempt()),
		}
		if failure.GetTimeoutFailureInfo() != nil {
			r.Class, r.Message = "Timeout", "the worker was lost while it worked on this"
		}
		// Next is set as long as the attempt has not been given to a worker.
		if next := p.GetNextAttemptScheduleTime(); next != nil && p.GetState() == enumspb.PENDING_ACTIVITY_STATE_SCHEDULED {
			r.Next = next.AsTime()
		}
		return r
	}
	return nil
}
