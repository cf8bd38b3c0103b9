package object

import (
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
)

// Act says what a line of an audit trail tells. docs/audit.md has the values. They never change, because exported trails contain them.
type Act string

// Allowed says why a call may run: a person, a permission or a rule lets it, or its tool needs no approval.
type Allowed string

// AuditLine is one line of an audit trail.
type AuditLine struct {
	// Line is the place of the line in the trail, from 1.
	Line int    `json:"line"`
	Act  Act    `json:"act"`
	ID   string `json:"id,omitempty"`
	// RunID is the run in which it happened.
	RunID string `json:"run_id,omitempty"`
	// Event is the number of the event in the history of the run.
	Event int  `json:"event,omitempty"`
	Time  Time `json:"time,omitzero"`
	Actor

	Agent  string `json:"agent,omitempty"`
	Parent string `json:"parent,omitempty"`
	// EarlierRunID is the run that a reset, a resume, a fork or a continue-as-new goes on from.
	EarlierRunID string    `json:"earlier_run_id,omitempty"`
	MessageID    string    `json:"message_id,omitempty"`
	Key          agent.Key `json:"key,omitempty"`
	Tool         string    `json:"tool,omitempty"`
	AllowedBy    Allowed   `json:"allowed_by,omitempty"`
	// Permits says which later calls an approval also permits.
	Permits   agent.Remember      `json:"permits,omitempty"`
	Guardrail string              `json:"guardrail,omitempty"`
	Action    agent.VerdictAction `json:"action,omitempty"`
	Model     string              `json:"model,omitempty"`
	// Attempt is the number of the attempt that brought the end of a call. Earlier attempts may have run, too.
	Attempt int `json:"attempt,omitempty"`
	// Class is absent for a result that is no failure.
	Class  string        `json:"class,omitempty"`
	Status client.Status `json:"status,omitempty"`
	Since  Time          `json:"since,omitzero"`

	// Content, Arguments, NewArguments and Reason may be left out. Hashes has their hashes.
	Content      string            `json:"content,omitempty"`
	Arguments    string            `json:"arguments,omitempty"`
	NewArguments string            `json:"new_arguments,omitempty"`
	Reason       string            `json:"reason,omitempty"`
	Hashes       map[string]string `json:"hashes,omitempty"`

	// Before is the hash of the line before; empty for the first line.
	Before string `json:"before,omitempty"`
	// Hash is the hash of all fields but the texts and itself.
	Hash string `json:"hash"`
}

func (AuditLine) kind() string { return "audit" }
