package object

import (
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
)

// Sent is a message that was sent to an agent without waiting for the answer.
type Sent struct {
	ID        string `json:"id"`
	MessageID string `json:"message_id"`
	// Duplicate says that the agent had the message already, and dropped this one.
	Duplicate bool `json:"duplicate,omitempty"`
	// Differs says that the message that the agent had has another text or other images.
	Differs bool `json:"differs,omitempty"`
	// Key is the key of the question that the message has answered. It is absent if the message is no answer.
	Key agent.Key `json:"key,omitempty"`
}

func (Sent) kind() string { return "sent" }

// NewSent returns the object of a message that was sent.
func NewSent(id string, s client.Sent) Sent {
	return Sent{ID: id, MessageID: s.MessageID, Duplicate: s.Duplicate, Differs: s.Differs, Key: s.Answered}
}

// Reply is what an agent has answered to a message.
type Reply struct {
	ID        string        `json:"id"`
	MessageID string        `json:"message_id"`
	Status    client.Status `json:"status"`
	// WaitsFor is absent if the agent works or has ended.
	WaitsFor client.WaitsFor `json:"waits_for,omitempty"`
	// Answer is absent if there is none.
	Answer string `json:"answer,omitempty"`
	// Turn is absent if there is no answer of the agent.
	Turn *Turn `json:"turn,omitempty"`
	// FinishReason is absent if the answer is whole.
	FinishReason string `json:"finish_reason,omitempty"`
	// Stopped is absent if no limit ended the turn.
	Stopped string `json:"stopped,omitempty"`
	// Limit is this limit. It is absent if only its name is known.
	Limit *agent.ReachedLimit `json:"limit,omitempty"`
	// Refusal is absent unless the message, or the answer to it, was refused.
	Refusal *Refusal `json:"refusal,omitempty"`
	// Error and Class are absent unless the agent is held, or has ended without an answer.
	Error string `json:"error,omitempty"`
	Class string `json:"class,omitempty"`
}

func (Reply) kind() string { return "reply" }

// NewReply returns the object of the answer to a message. The snapshot is that of [client.Client.AwaitReply].
func NewReply(messageID string, s client.Snapshot) Reply {
	return Reply{
		ID: s.ID, MessageID: messageID, Status: s.Status, WaitsFor: s.WaitsFor, Answer: s.Answer, Turn: newTurn(s.Turn), FinishReason: s.FinishReason,
		Stopped: s.Stopped, Limit: newLimit(s), Refusal: newRefusalOf(s), Error: s.Failure, Class: s.Class,
	}
}

// Aside is what the model of an agent has answered to a question beside the work.
type Aside struct {
	ID     string `json:"id"`
	Answer string `json:"answer"`
}

func (Aside) kind() string { return "aside" }
