package agent

import (
	"errors"
	"fmt"

	"github.com/reagent-dev/reagent/internal/clip"
)

// Interrupted is the class of a turn that a person has interrupted: see [Hold] and [Stopped]. The agent waits for a message, which
// enters the interrupted turn.
const Interrupted = "Interrupted"

// Interrupt is a person's request to stop the running turn.
type Interrupt struct {
	// Run contains the last characters of the ID of the run whose turn the person saw. Every other run ignores the request, because
	// Temporal delivers it again after a reset.
	Run string `json:"run"`
	// By names the person, and From names the program and the machine: see [Decision].
	By   string `json:"by,omitempty"`
	From string `json:"from,omitempty"`
}

// ErrIdle means that no turn is running, or that the agent has no definition yet, so there is nothing to interrupt.
var ErrIdle = errors.New("no turn is running: the agent waits or has ended, so there is nothing to interrupt")

const textInterrupted = "a person interrupted the turn"

// Check returns an error if a field of the request is too large.
func (i Interrupt) Check() error {
	if len(i.Run) > maxDeciderBytes || len(i.By) > maxDeciderBytes || len(i.From) > maxDeciderBytes {
		return fmt.Errorf("interrupt: the fields \"run\", \"by\" and \"from\" may have at most %d bytes each; shorten them", maxDeciderBytes)
	}
	return nil
}

// Stopped returns the event that interrupts the turn. It cuts By and From to 200 bytes each. The parameter `now` is the current time, in
// Unix milliseconds.
func (i Interrupt) Stopped(now int64) Stopped {
	return Stopped{Class: Interrupted, Message: textInterrupted, By: clip.Text(i.By, maxDeciderBytes), From: clip.Text(i.From, maxDeciderBytes), Time: now}
}

// AcceptsInterrupt returns [ErrIdle] if no turn is running, or if the agent has no definition yet.
func (s *State) AcceptsInterrupt() error {
	if s.Definition == nil || !s.TurnRuns() {
		return ErrIdle
	}
	return nil
}

// stopChildren ends the waits for all sub-agents of open calls, and marks these sub-agents for the driver to cancel them: see
// [ChildCancelling]. The parameter `why` is the reason, as a text for the model.
func (s *State) stopChildren(why string, now int64) {
	for i := range s.Calls {
		c := &s.Calls[i]
		child := s.child(c.Child)
		if c.Result != nil || c.Stopped != nil || child == nil {
			continue
		}
		s.stop(c, ChildFailed(child.Agent, why, now))
		if !child.Phase.Ended() {
			child.Attachment = ChildCancelling
		}
	}
}
