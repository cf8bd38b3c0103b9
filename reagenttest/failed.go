package reagenttest

import (
	"fmt"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
)

// FailedError says why an agent is held by a failure, or has ended without completing: see [Agent.Err].
type FailedError struct {
	// ID is the agent's ID.
	ID string
	// Status is [agent.Held], or says how the agent has ended.
	Status agent.Status
	// Class is the type of the failure, such as an [llm.Class] or `client.UnknownAgent`. It is empty if the failure has none.
	Class string
	// Message is the text of the failure.
	Message string
}

// Error names the agent, its status and the failure.
func (e *FailedError) Error() string { return fmt.Sprintf("agent %s is %s", e.ID, e.reason()) }

// reason returns the text without the ID.
func (e *FailedError) reason() string {
	text := string(e.Status)
	if e.Message != "" {
		text += ": " + e.Message
	}
	if e.Class != "" {
		text += " (" + e.Class + ")"
	}
	return text
}

// Err returns why the agent is held or has ended without completing, as a [*FailedError]. It returns nil for any other agent, and for one
// that a person has interrupted.
func (a *Agent) Err() error {
	a.agents.t.Helper()
	if failed := failure(a.id, a.view()); failed != nil {
		return failed
	}
	return nil
}

func failure(id string, view protocol.StateView) *FailedError {
	switch {
	case view.Hold != nil && view.Hold.Class != agent.Interrupted && !view.Status.Ended():
		return &FailedError{ID: id, Status: view.Status, Class: view.Hold.Class, Message: view.Hold.Message}
	case view.Outcome != nil && view.Outcome.Status != agent.Completed:
		return &FailedError{ID: id, Status: view.Outcome.Status, Class: view.Outcome.Class, Message: view.Outcome.Message}
	}
	return nil
}
