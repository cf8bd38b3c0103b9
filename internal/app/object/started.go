package object

import "github.com/reagent-dev/reagent/client"

// Started is an agent that a command has started without waiting for it.
type Started struct {
	ID     string        `json:"id"`
	Status client.Status `json:"status"`
	// Found says that nothing was started, because the agent existed already.
	Found bool `json:"found,omitempty"`
}

func (Started) kind() string { return "started" }

// NewStarted returns the object of an agent that was started.
func NewStarted(s client.Started) Started { return Started{ID: s.ID, Status: s.Status, Found: s.Found} }
