package protocol

import (
	"time"

	"github.com/reagent-dev/reagent/agent"
)

// Progress is what an activity has done so far. The activity sends it to Temporal with each heartbeat, and the next attempt
// at the activity reads it. Every activity with heartbeats uses this type, except [AwaitAgent], which sends a run ID.
type Progress struct {
	// Doing says what the activity does: it names the model, or the tool with the beginning of its arguments. The Web UI
	// shows this text for a running activity, because the activity's ID is only a hash.
	Doing string `json:"doing,omitempty"`
	// Tried is the number of attempts that called the model or the tool, including the current attempt. An attempt also
	// counts if the source of the tool, such as an MCP server, could not be reached. An attempt on a worker without the model
	// or the tool does not count.
	Tried int `json:"tried"`
	// Reported is the number of attempts that failed and recorded their failure here. All other attempts before the current
	// one were lost, for example because their workers crashed.
	Reported int `json:"reported,omitempty"`
	// Sought is the number of attempts that did not run the tool, because the tool may have run before. Each of them ended, so
	// that a later attempt may reach the worker that has the result.
	Sought int `json:"sought,omitempty"`
	// Empty counts the empty replies of all attempts so far, and the tokens of these replies.
	Empty agent.EmptyReplies `json:"empty,omitzero"`
	// Candidate is the number of the model to call, from 0. The candidates of a request are the models that may answer it.
	// After the last candidate, the first one is called again, and the number still grows.
	Candidate int `json:"candidate,omitempty"`
	// Refused holds the indexes of the candidates that are not called again, because their errors were not retryable.
	Refused []int `json:"refused,omitempty"`
	// FirstError is the error of the first candidate. The error of another candidate must not hide it from people.
	FirstError string `json:"first_error,omitempty"`
	// FailingSince is the time of the first failure of the model call in an outage: see [MaxRetryFor]. It is zero if there was none, or if
	// the number of attempts limits the call.
	FailingSince time.Time `json:"failing_since,omitzero"`
	// RetryUntil is the end of the time in which the call is tried again. It is zero if FailingSince is zero.
	RetryUntil time.Time `json:"retry_until,omitzero"`
	// Text is the end of what the model has written, or of what the tool has reported, so far in this call. It is for people. It is
	// empty unless somebody has asked for it: see [CallModelInput] and [CallToolInput].
	Text string `json:"text,omitempty"`
	// Said is the size, in bytes, of all that the model has written, or that the tool has reported, so far in this call.
	Said int `json:"said,omitempty"`
	// Attempt is Temporal's number of the attempt to which Text belongs. Text is outdated if this is not the number of the current
	// attempt, because a new attempt begins with the Progress of the previous one.
	Attempt int32 `json:"attempt,omitempty"`
}
