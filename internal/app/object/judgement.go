package object

import (
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
)

// Judgement is what a guardrail, or the person whom it asked, has said about a text.
type Judgement struct {
	Guardrail string              `json:"guardrail"`
	Action    agent.VerdictAction `json:"action"`
	Reason    string              `json:"reason,omitempty"`
	// DecidedBy is absent if the guardrail itself has decided.
	DecidedBy *Decider `json:"decided_by,omitempty"`
}

func newJudgement(v agent.GivenVerdict) Judgement {
	return Judgement{Guardrail: v.Guardrail, Action: v.Action, Reason: v.Reason, DecidedBy: newDecider(v.Decider)}
}

// Refusal is a text that was refused. The text itself is not there.
type Refusal struct {
	Subject agent.TextKind `json:"subject"`
	// MessageID is that of the refused message. It is absent for other texts.
	MessageID string `json:"message_id,omitempty"`
	// Key is that of the model call of a refused answer, or of the call whose question was answered. It is absent for a message.
	Key agent.Key `json:"key,omitempty"`
	Judgement
	Time Time `json:"time"`
}

func newRefusal(r agent.RefusedText) Refusal {
	v := Refusal{Subject: r.Kind, Key: r.Of, Judgement: newJudgement(r.GivenVerdict), Time: at(r.Time)}
	if r.Kind == agent.TextMessage && !r.AnswersQuestion() {
		v.MessageID, v.Key = string(r.Of), ""
	}
	return v
}

// newRefusalOf returns the refusal because of which an agent has not answered; nil if there is none.
func newRefusalOf(s client.Snapshot) *Refusal {
	if s.Refusal == nil {
		return nil
	}
	return new(newRefusal(*s.Refusal))
}
