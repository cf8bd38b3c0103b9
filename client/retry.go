package client

import (
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/converter"

	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
)

// Retry describes a call that failed and that Temporal tries again.
type Retry struct {
	// What is the kind of the call: "model", "tool", or "definition" if the agent loads its definition.
	What string
	// Class is the type of the last failure, such as an [llm.Class]. It is "Timeout" if the worker sent no more heartbeats,
	// or if the call took longer than its time limit.
	Class string
	// Message is the text of the last failure.
	Message string
	// Attempt is the number of the running or next attempt, counted from 1.
	Attempt int
	// Limit is the largest number of attempts. It is 0 if the number is not limited or not known.
	Limit int
	// Until is the time from which on a failing model call is not tried again. It is zero if the number of attempts is limited instead.
	Until time.Time
	// Next is the time at which the next attempt starts. It is zero while an attempt is running.
	Next time.Time
}

// Unserved reports whether the call waits for another worker, because the workers that have tried it do not have its agent, model or
// tool. The name may be wrong, or the configuration may not be on all workers yet.
func (r Retry) Unserved() bool {
	return r.Class == protocol.UnknownAgent || r.Class == protocol.Missing
}

// retried has the types of activities whose failures people should see, and maps each to [Retry.What]. The activity that
// waits for a sub-agent is not in the map, because each attempt of that activity fails while the sub-agent is running.
var retried = map[string]string{
	protocol.CallModel:        "model",
	protocol.CallTool:         "tool",
	protocol.LoadAgent:        "definition",
	protocol.ResolveOverrides: "overrides",
}

// retry returns the failed call that a [Snapshot] shows; nil if there is none. `pending` has the agent's activities that have
// not ended. retry takes the first one that has failed, is tried again, and has a type in [retried].
func (c *Client) retry(pending []*workflowpb.PendingActivityInfo) *Retry {
	for _, p := range pending {
		what, failure := retried[p.GetActivityType().GetName()], p.GetLastFailure()
		if what == "" || failure == nil || p.GetAttempt() < 2 {
			continue
		}
		converter.DecodeCommonFailureAttributes(c.converter, failure)
		r := &Retry{
			What: what, Class: failure.GetApplicationFailureInfo().GetType(), Message: failureText(failure.GetMessage()),
			Attempt: c.progress(p).attempt(p),
		}
		if timeout := failure.GetTimeoutFailureInfo(); timeout != nil {
			r.Class, r.Message = "Timeout", protocol.TimeoutText(timeout.GetTimeoutType())
		} else if r.Class == protocol.CallReturned || r.Class == protocol.CallMissed {
			r.Class = "Timeout" // the heartbeats of the worker stopped
		}
		switch {
		case what == "model" && llm.Class(r.Class).Outage() && !c.progress(p).RetryUntil.IsZero():
			r.Until = c.progress(p).RetryUntil
		case what == "model" && llm.Class(r.Class).Retryable():
			r.Limit = protocol.MaxModelAttempts(llm.Class(r.Class))
		case what == "tool" && r.Class == protocol.Unavailable:
			r.Limit = protocol.MaxToolAttempts
		}
		if r.Attempt > r.Limit {
			r.Limit = 0
		}
		// Temporal has scheduled the next attempt, and no worker has taken it yet.
		if next := p.GetNextAttemptScheduleTime(); next != nil && p.GetState() == enumspb.PENDING_ACTIVITY_STATE_SCHEDULED {
			r.Next = next.AsTime()
		}
		return r
	}
	return nil
}

// progress is what an activity has done so far, as its heartbeats say.
type progress struct{ protocol.Progress }

// progress returns the zero value if the activity has sent no heartbeat, or if the heartbeat cannot be decoded.
func (c *Client) progress(p *workflowpb.PendingActivityInfo) (said progress) {
	if p.GetHeartbeatDetails() == nil || c.converter.FromPayloads(p.GetHeartbeatDetails(), &said.Progress) != nil {
		return progress{}
	}
	return said
}

// attempt returns the number of the running or next attempt at a call. `p` is the activity that makes the call. The worker
// counts the attempts in the heartbeats of the activity. If there is no such count, attempt returns Temporal's number of the
// attempt. That number may be higher, because it includes attempts that failed before they called the model or the tool.
func (said progress) attempt(p *workflowpb.PendingActivityInfo) int {
	switch {
	case said.Tried == 0:
		return int(p.GetAttempt())
	case said.Attempt == p.GetAttempt():
		return said.Tried
	}
	return said.Tried + 1
}
