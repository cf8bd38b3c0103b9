package agent

import (
	"errors"
	"fmt"
)

// Interrupted is the class of a turn that a person has interrupted: see [Hold] and [Stopped]. The agent waits for a message, which
// enters the interrupted turn.
const Interrupted = "Interrupted"

// Interrupt is a person's request to stop the running turn.
type Interrupt struct {
	// Run contains the last characters of the ID of the run whose turn the person saw. Every other run ignores the request, because
	// Temporal delivers it again after a reset.
	Run string `json:"run"`
	// Actor is the person who interrupts the turn, or the program.
	Actor
}

// ErrIdle means that no turn is running, or that the agent has no definition yet, so there is nothing to interrupt.
var ErrIdle = errors.New("no turn is running: the agent waits or has ended, so there is nothing to interrupt")

const textInterrupted = "a person interrupted the turn"

// Check returns an error if a field of the request is too large.
func (i Interrupt) Check() error {
	if len(i.Run) > maxActorBytes {
		return fmt.Errorf("interrupt: the field \"run\" may have at most %d bytes; shorten it", maxActorBytes)
	}
	return checkActor("interrupt", i.Actor)
}

// Stopped returns the event that interrupts the turn. It cuts the fields of the actor to 200 bytes each. The parameter `now` is the current time, in
// Unix milliseconds.
func (i Interrupt) Stopped(now int64) Stopped {
	return Stopped{Class: Interrupted, Message: textInterrupted, Actor: cutActor(i.Actor), Time: now}
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
