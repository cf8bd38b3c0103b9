package object

import (
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/llm"
)

// Message is a message of a transcript.
type Message struct {
	Role    llm.Role `json:"role"`
	Content string   `json:"content"`
	Calls   []Asked  `json:"calls,omitempty"`
	// CallID is only in the result of a call.
	CallID string `json:"call_id,omitempty"`
	// FinishReason is absent if the message is whole.
	FinishReason string `json:"finish_reason,omitempty"`
	// Model is only in a message that a model wrote.
	Model string    `json:"model,omitempty"`
	Key   agent.Key `json:"key,omitempty"`
	// DecidedBy says who has decided on the call of this result, or has given the result.
	DecidedBy *Decider `json:"decided_by,omitempty"`
	// Judgements are those of guardrails that have not simply let the text through.
	Judgements []Judgement `json:"judgements,omitempty"`
	// SentBy is only in a message of a user.
	SentBy   *Actor         `json:"sent_by,omitempty"`
	Metadata agent.Metadata `json:"metadata,omitempty"`
	Time     Time           `json:"time"`
	// TookMS is absent in the objects of `starter tail`, and if it is not known.
	TookMS Milliseconds `json:"took_ms,omitempty"`
}

// Actor is a person or a program.
type Actor struct {
	By   string `json:"by,omitempty"`
	From string `json:"from,omitempty"`
	// ProvedBy is absent if By is only stated.
	ProvedBy string `json:"proved_by,omitempty"`
}

// Decider is a person or a program that decided on a call or gave its result.
type Decider struct {
	Actor

	Denied     bool `json:"denied,omitempty"`
	Remembered bool `json:"remembered,omitempty"`
	Time       Time `json:"time"`
}

// newMessage returns a message without the opaque data that a provider has added to the calls, which only the provider understands.
func newMessage(m agent.Message) Message {
	v := Message{
		Role: m.Role, Content: m.Content, CallID: m.ToolCallID, FinishReason: m.FinishReason, Model: m.Model, Key: m.Key, Metadata: m.Metadata, Time: at(m.Time),
	}
	for _, c := range m.ToolCalls {
		v.Calls = append(v.Calls, Asked{CallID: c.ID, Tool: c.Name, Arguments: c.Arguments})
	}
	v.DecidedBy, v.SentBy = newDecider(m.Decider), (*Actor)(m.Sender)
	for _, verdict := range m.Verdicts {
		v.Judgements = append(v.Judgements, newJudgement(verdict))
	}
	return v
}

func newDecider(d *agent.Decider) *Decider {
	if d == nil {
		return nil
	}
	return &Decider{Actor: Actor(d.Actor), Denied: d.Denied, Remembered: d.Remembered, Time: at(d.Time)}
}

// NewMessage is a message that has come.
type NewMessage struct {
	ID    string `json:"id"`
	Index int    `json:"index"`
	Message
}

func (NewMessage) kind() string { return "message" }

// Came returns the object of a message with the given place in the transcript of an agent.
func Came(id string, index int, m agent.Message) NewMessage {
	return NewMessage{ID: id, Index: index, Message: newMessage(m)}
}

// Status says that an agent waits, is held or has ended.
type Status struct {
	ID     string        `json:"id"`
	Status client.Status `json:"status"`
	// WaitsFor is absent if the agent has ended.
	WaitsFor client.WaitsFor `json:"waits_for,omitempty"`
}

func (Status) kind() string { return "status" }

// Reset says that a reset of an agent has discarded messages.
type Reset struct {
	ID string `json:"id"`
	// MessageCount is the number of messages that are left.
	MessageCount int `json:"message_count"`
}

func (Reset) kind() string { return "reset" }
