package protocol

import "github.com/reagent-dev/reagent/agent"

// Progress is the type of the heartbeat details of all activities except [AwaitAgent]. The details of AwaitAgent are a run ID.
type Progress struct {
	// Doing says what the activity does: the tool with the beginning of its arguments, or the model. The Web UI shows it with
	// the pending activity, because the activity's ID is a hash and says nothing to people.
	Doing string `json:"doing,omitempty"`
	// Tried is the number of attempts that tried the effect, including the current attempt. An attempt counts from the
	// moment when it calls the model or the tool. It also counts if the lookup of the tool failed. An attempt does not
	// count if it failed before the call or the lookup, or if its worker does not know the tool.
	Tried int `json:"tried"`
	// Reported is the number of attempts that reported an error before they ended. All other attempts before the current one were
	// lost.
	Reported int `json:"reported,omitempty"`
	// Sought is the number of attempts that ended without running the tool because another worker may have its result.
	Sought int `json:"sought,omitempty"`
	// Empty counts the empty replies of all attempts so far, and their tokens.
	Empty agent.EmptyReplies `json:"empty,omitzero"`
	// Candidate is the number of the candidate to call. It grows over all rounds through the candidates of the request. Refused
	// holds the indexes of the candidates that are not called again, because their errors were not retryable.
	Candidate int   `json:"candidate,omitempty"`
	Refused   []int `json:"refused,omitempty"`
	// Text is the end of the partial text of the model call, for people. Said is the size of the whole partial text in bytes.
	Text string `json:"text,omitempty"`
	Said int    `json:"said,omitempty"`
	// Attempt is Temporal's number of the attempt to which Text belongs. A new attempt starts with the details of the attempt
	// before. If Attempt is not the number of the current attempt, Text is discarded text.
	Attempt int32 `json:"attempt,omitempty"`
}
