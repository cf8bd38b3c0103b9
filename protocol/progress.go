package protocol

import "github.com/reagent-dev/reagent/agent"

// Progress is what an activity sends to Temporal with each heartbeat. The next attempt of the activity reads it. Every activity
// that sends heartbeats uses this type, except [AwaitAgent], which sends a run ID.
type Progress struct {
	// Doing says what the activity does: the tool with the beginning of its arguments, or the model. The Web UI shows it with
	// the pending activity, because the activity's ID is a hash and says nothing to people.
	Doing string `json:"doing,omitempty"`
	// Tried is the number of attempts that called the model or the tool, including the current attempt. An attempt that failed
	// to look up the tool counts, too. An attempt does not count if it failed earlier, or if its worker does not know the tool.
	Tried int `json:"tried"`
	// Reported is the number of attempts that failed and recorded their failure here. All other attempts before the current one
	// were lost, for example because their workers crashed.
	Reported int `json:"reported,omitempty"`
	// Sought is the number of attempts that did not run the tool, because it may have run before and another worker may have
	// its result.
	Sought int `json:"sought,omitempty"`
	// Empty counts the empty replies of all attempts so far, and their tokens.
	Empty agent.EmptyReplies `json:"empty,omitzero"`
	// Candidate is the number of the candidate to call. The candidates of a request are the models that may answer it. The
	// number starts at 0. After the last candidate comes the first one again, and the number still grows. Refused holds the
	// indexes of the candidates that are not called again, because their errors were not retryable.
	Candidate int   `json:"candidate,omitempty"`
	Refused   []int `json:"refused,omitempty"`
	// Text is the end of what the model has written so far in this call. It is for people. Said is the size, in bytes, of all
	// that the model has written so far.
	Text string `json:"text,omitempty"`
	Said int    `json:"said,omitempty"`
	// Attempt is Temporal's number of the attempt to which Text belongs. A new attempt begins with the Progress of the attempt
	// before. So if Attempt is not the number of the current attempt, Text is outdated.
	Attempt int32 `json:"attempt,omitempty"`
}
