// Package conversation turns the transcript of an agent into one ordered list of events with stable positions.
//
// The list is a pure function of what the agent has recorded: see [Of]. So everybody computes the same list, while a turn runs and years
// later, and a reader that was cut off goes on after the last position that it has read. The list only grows, with one exception: a reset
// takes an agent back to an earlier point, and may change what comes after it.
//
//   - The text of the model is split by a fixed rule: see [Pieces]. While a model call runs, its text so far is shown as the first of these
//     pieces: see [Reader.Partial]. So a reader sees a beginning of what will be recorded.
//   - If the attempt at a model call is lost after its text was shown, and the reply that is recorded has another text, the reader gets
//     [ErrLostText]. Text that was shown cannot be taken back, so the reader has to read again what is recorded.
//   - Calls of one reply have their results together, in the order of the calls, when the last one has come.
//   - What may still change is no event: that the agent works, waits, is held or has ended. It is the status after the last event.
package conversation

import (
	"cmp"
	"fmt"

	"github.com/reagent-dev/reagent/agent"
)

// Position is the place of an event in the list. Positions grow along the list.
type Position struct {
	// Message is the index of a message in the transcript, counted from 0.
	Message int `json:"message"`
	// Number is the number of the event among those of the message, counted from 0.
	Number int `json:"number"`
}

// Compare returns -1 if p comes before q, 0 if they are the same, and 1 if p comes after q.
func (p Position) Compare(q Position) int {
	return cmp.Or(cmp.Compare(p.Message, q.Message), cmp.Compare(p.Number, q.Number))
}

// Kind is the kind of an [Event].
type Kind string

// The kinds of events. Each says which fields of the event are set, beside Kind and Position.
const (
	// Message is a message from outside: of a user, or of the parent agent. It sets Message.
	Message Kind = "message"
	// Text is the next piece of the text of a reply. It sets Reply and Text.
	Text Kind = "text"
	// Reply is the end of a reply of the model that asks for calls. It sets Reply and Message.
	Reply Kind = "reply"
	// Asked is a call that the reply asks for. It sets Call.
	Asked Kind = "call"
	// Waits says that a call waits for somebody outside. It sets Call and Wait.
	Waits Kind = "wait"
	// Result is the result of a call. It sets Call and Message.
	Result Kind = "result"
	// LateResult is a better result of a call of an earlier turn or batch, which already has one. It sets Message.
	LateResult Kind = "late_result"
	// Correction is a message in which the agent itself asks the model to correct its answer. It sets Message.
	Correction Kind = "correction"
	// Answer is the end of a reply that is an answer, and of a notice in its place. It ends the turn, unless a correction follows. It sets
	// Reply and Message.
	Answer Kind = "answer"
)

// Event is something that has happened in a conversation. An event never changes.
type Event struct {
	Kind     Kind
	Position Position
	// Message is the message of the transcript to which the event belongs. It must not be changed.
	Message *agent.Message
	// Reply is the key of the model call whose reply it is. It is empty for a notice of the agent.
	Reply agent.Key
	// Text is a piece of text.
	Text string
	// Call is the call that the event is about.
	Call Call
	// Wait is what the call waits for.
	Wait agent.Waited
}

// Call is a call of a tool or of a sub-agent.
type Call struct {
	// Reply is the key of the model call whose reply asks for the call, and Index the position of the call in the reply. Together they
	// identify the call, also if a person changes its arguments.
	Reply agent.Key
	Index int
	// ID is the ID that the model gave to the call.
	ID string
	// Name is the name of the tool, and Arguments are the model's arguments, as JSON text.
	Name, Arguments string
}

func (c Call) String() string { return fmt.Sprintf("%s/%d", c.Reply, c.Index) }

// Begins reports whether the event is a message that begins something new: it entered no running turn, except one that somebody had
// interrupted before.
func (e Event) Begins() bool { return e.Kind == Message && !e.Message.Steer }
