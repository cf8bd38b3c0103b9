package object

import (
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
)

// Summary is what the list of agents has about one of them.
type Summary struct {
	ID     string        `json:"id"`
	Agent  string        `json:"agent"`
	Status client.Status `json:"status"`
	// WaitsFor is absent if the agent works or has ended.
	WaitsFor client.WaitsFor `json:"waits_for,omitempty"`
	// Digest is absent if the agent has completed, failed or was cancelled, unless the expression has the name digest.
	Digest string `json:"digest,omitempty"`
	// Stopped is absent if no limit ended the last turn.
	Stopped string `json:"stopped,omitempty"`
	// Class is absent if the agent has no failure.
	Class string `json:"class,omitempty"`
	// Spent is absent if it is unknown.
	Spent    *Spending      `json:"spent,omitempty"`
	Task     string         `json:"task,omitempty"`
	Metadata agent.Metadata `json:"metadata,omitempty"`
	Parent   string         `json:"parent,omitempty"`
	Started  Time           `json:"started"`
	// Ended is absent if the agent has not ended.
	Ended Time `json:"ended,omitzero"`
}

func (Summary) kind() string { return "summary" }

// NewSummary returns the object of an agent in the list.
func NewSummary(e client.Entry, s client.Snapshot) Summary {
	v := Summary{
		ID: e.ID, Agent: e.Agent, Status: s.Status, WaitsFor: s.WaitsFor, Digest: s.Digest, Stopped: s.Stopped, Class: s.Class,
		Task: s.Task, Metadata: e.Metadata, Parent: e.Parent, Started: Time(e.Started), Ended: Time(e.Ended),
	}
	if s.Spent != nil {
		v.Spent = new(NewSpending(*s.Spent))
	}
	return v
}
