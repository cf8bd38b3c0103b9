package agent

import "slices"

// Status says whether an agent works, waits or has ended, and how it has ended.
type Status string

// The statuses of an agent. An agent with one of the first three has not ended.
const (
	// Running: a turn is running.
	Running Status = "running"
	// Waiting: the agent waits for a message, or all its open calls wait for a person's decision.
	Waiting Status = "waiting"
	// HeldUp: the turn is held, and the agent waits for a message: see [Held].
	HeldUp    Status = "held"
	Completed Status = "completed"
	Failed    Status = "failed"
	Cancelled Status = "cancelled"
	// Terminated and TimedOut are statuses that only Temporal knows. A workflow cannot record its own termination, so no
	// [State] and no [Outcome] has them.
	Terminated Status = "terminated"
	TimedOut   Status = "timed_out"
	// Unknown: the state of the agent cannot be read.
	Unknown Status = "unknown"
)

// Ended reports whether the agent has ended. It is false for the zero Status and true for [Unknown].
func (s Status) Ended() bool { return s != "" && s != Running && s != Waiting && s != HeldUp }

// Status returns the agent's status, which is one of the constants of type [Status].
func (s *State) Status() Status { return s.statusAt(s.Next()) }

// CopiedStatus returns the status of the agent as if it never had to search other runs for messages: see
// [FindMessages]. A workflow command may depend on CopiedStatus, but not on Status. The reason is a reset: Temporal
// copies the first workflow tasks of the old run into the history of a new run, and the new run replays them. In these
// tasks, the new run has to search and the old run did not, so Status may differ. CopiedStatus is the same in both
// runs.
func (s *State) CopiedStatus() Status {
	step := s.Next()
	if find, ok := step.(FindMessages); ok {
		step = find.Then
	}
	return s.statusAt(step)
}

func (s *State) statusAt(step Step) Status {
	switch step := step.(type) {
	case Finish:
		return step.Outcome.Status
	case Wait:
		if s.Held != nil {
			return HeldUp
		}
		return Waiting
	case RunTools:
		if !slices.ContainsFunc(step.Calls, func(c Call) bool { return c.Approval != Asked }) {
			return Waiting
		}
	}
	return Running
}

// WaitsFor says what an agent waits for, and so who has to act.
type WaitsFor string

// The values of WaitsFor. The zero WaitsFor means that the agent works and waits for none of these, or that it has
// ended.
const (
	WaitsForMessage   WaitsFor = "message"    // the user's next message
	WaitsForApproval  WaitsFor = "approval"   // a person's decision on a tool call
	WaitsForPerson    WaitsFor = "person"     // the turn is held: a person has to correct what made it fail, and send a message
	WaitsForSubAgents WaitsFor = "sub-agents" // the answers of sub-agents: all open calls wait for sub-agents
)

// WaitsFor returns what the agent waits for.
func (s *State) WaitsFor() WaitsFor {
	tools, calls := s.Next().(RunTools)
	switch status := s.Status(); {
	case status == HeldUp:
		return WaitsForPerson
	case status == Waiting && calls:
		return WaitsForApproval
	case status == Waiting:
		return WaitsForMessage
	case calls && !slices.ContainsFunc(tools.Calls, func(c Call) bool { return c.Child == "" }):
		return WaitsForSubAgents
	}
	return ""
}
