package object

import (
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
)

// Asked is a call in the reply of a model.
type Asked struct {
	// CallID is absent in a comparison, because it differs in any two agents.
	CallID    string `json:"call_id,omitempty"`
	Tool      string `json:"tool"`
	Arguments string `json:"arguments"`
}

// AskedText says that no call waits, but a text about which a guardrail asks a person. It is empty for a call.
type AskedText struct {
	Subject   agent.TextKind `json:"subject,omitempty"`
	Guardrail string         `json:"guardrail,omitempty"`
	// Reason is absent if the guardrail has given none.
	Reason string `json:"reason,omitempty"`
}

func newAskedText(c agent.Call) AskedText {
	t, asks := c.AskedText()
	if !asks {
		return AskedText{}
	}
	return AskedText{Subject: t.Kind, Guardrail: c.Name, Reason: t.Reason}
}

// Call is a call without a result, or a text about which a guardrail asks a person.
type Call struct {
	Handle string    `json:"handle"`
	Key    agent.Key `json:"key"`
	Asked
	AskedText

	// WaitsFor is absent if the call runs.
	WaitsFor client.WaitsFor `json:"waits_for,omitempty"`
	// Until is absent if the wait has no limit.
	Until Time `json:"until,omitzero"`
}

func newCall(c agent.Call) Call {
	return Call{
		Handle: c.Key.Handle(), Key: c.Key, Asked: Asked{CallID: c.CallID, Tool: c.Name, Arguments: c.Arguments},
		AskedText: newAskedText(c), WaitsFor: c.WaitsFor(), Until: at(c.Wait.Until),
	}
}

// Waiting is a call that waits for somebody outside.
type Waiting struct {
	ID    string `json:"id"`
	Agent string `json:"agent"`
	Call

	Since Time `json:"since"`
}

func (Waiting) kind() string { return "call" }

// NewWaiting returns the object of a call that waits.
func NewWaiting(w client.Waits) Waiting {
	return Waiting{ID: w.AgentID, Agent: w.Agent, Call: newCall(w.Call), Since: at(w.Since)}
}

// Verdict says what somebody has decided on a call.
type Verdict string

// The verdicts.
const (
	Approved  Verdict = "approved"
	Denied    Verdict = "denied"
	Answered  Verdict = "answered"
	Completed Verdict = "completed"
)

// Decision is a decision on a call that has waited, or its result.
type Decision struct {
	ID      string    `json:"id"`
	Agent   string    `json:"agent"`
	Verdict Verdict   `json:"verdict"`
	Handle  string    `json:"handle"`
	Key     agent.Key `json:"key"`
	Asked
	AskedText

	// NewArguments is absent if the call runs with the arguments of the model.
	NewArguments string `json:"new_arguments,omitempty"`
	// Given is the text of an answer or a result. It is absent for other verdicts.
	Given string `json:"given,omitempty"`
	// IsError says that the text is a failure, or the reason for which a person declines to answer.
	IsError bool `json:"is_error,omitempty"`
}

func (Decision) kind() string { return "decision" }

// NewDecision returns the object of a verdict on a call.
func NewDecision(w client.Waits, v Verdict) Decision {
	c := newCall(w.Call)
	return Decision{ID: w.AgentID, Agent: w.Agent, Verdict: v, Handle: c.Handle, Key: c.Key, Asked: c.Asked, AskedText: c.AskedText}
}
