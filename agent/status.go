package agent

import "slices"

// Status says whether an agent works, waits or has ended, and how it has ended.
type Status string

// The statuses of an agent. [Status.Ended] says which of them mean that the agent has ended.
const (
	// Running: a turn is running.
	Running Status = "running"
	// Waiting: the agent waits for a message or for sub-agents in the background, or all its open calls wait for somebody outside: see
	// [Call.Waits].
	Waiting Status = "waiting"
	// Held: the turn is held, and the agent waits for a message: see [Hold].
	Held Status = "held"
	// Completed: the agent has finished its work.
	Completed Status = "completed"
	// Failed: the agent has ended because of an error.
	Failed Status = "failed"
	// Cancelled: the agent was cancelled.
	Cancelled Status = "cancelled"
	// Terminated: Temporal terminated the workflow. A workflow cannot record this. Therefore no [State] and no
	// [Outcome] has this status.
	Terminated Status = "terminated"
	// TimedOut: the workflow reached a timeout of Temporal. No [State] and no [Outcome] has this status.
	TimedOut Status = "timed_out"
	// Unknown: the state of the agent cannot be read.
	Unknown Status = "unknown"
)

// Ended reports whether the agent has ended. The result is false for the zero Status, and true for [Unknown].
func (s Status) Ended() bool { return s != "" && s != Running && s != Waiting && s != Held }

// Status returns the agent's status, such as [Running].
func (s *State) Status() Status { return s.statusAt(s.Next()) }

// CopiedStatus returns the status that the agent would have if it never had to search other runs for messages: see
// [FindMessages]. A workflow command may depend on CopiedStatus, but not on [State.Status]. After a reset, the new run replays the first
// workflow tasks of the old run, and in these tasks only the new run has to search. So [State.Status] may differ between the two runs,
// while CopiedStatus is the same in both.
func (s *State) CopiedStatus() Status { return s.statusAt(s.copiedStep()) }

// CopiedWaitsFor returns what the agent would wait for if it never had to search other runs: see [State.CopiedStatus].
func (s *State) CopiedWaitsFor() WaitsFor { return s.waitsForAt(s.copiedStep()) }

// copiedStep returns the next step without the search of other runs.
func (s *State) copiedStep() Step {
	step := s.Next()
	if find, ok := step.(FindMessages); ok {
		return find.Then
	}
	return step
}

func (s *State) statusAt(step Step) Status {
	switch step := step.(type) {
	case Finish:
		return step.Outcome.Status
	case Wait:
		if s.Hold != nil {
			return Held
		}
		return Waiting
	case RunTools:
		if !slices.ContainsFunc(step.Calls, func(c Call) bool { return !c.Waits() && !c.Judged || c.Search }) {
			return Waiting
		}
	}
	return Running
}

// WaitsFor says what an agent waits for, and therefore who has to act.
type WaitsFor string

// The values of WaitsFor. The zero WaitsFor means that the agent works and waits for none of these, or that the
// agent has ended.
const (
	WaitsForMessage   WaitsFor = "message"    // the user's next message
	WaitsForApproval  WaitsFor = "approval"   // a person's decision on a tool call
	WaitsForAnswer    WaitsFor = "answer"     // a person's answer to a question: see AskUser
	WaitsForResult    WaitsFor = "result"     // the result of an external call: see EffectExternal
	WaitsForRelease   WaitsFor = "release"    // a person, who removes the cause of a hold (see Hold) and sends a message
	WaitsForSubAgents WaitsFor = "sub-agents" // sub-agents: all open calls wait for them, or an agent in task mode for those in the background
)

// WaitsFor returns what the agent waits for, such as [WaitsForMessage].
func (s *State) WaitsFor() WaitsFor { return s.waitsForAt(s.Next()) }

func (s *State) waitsForAt(step Step) WaitsFor {
	tools, calls := step.(RunTools)
	switch status := s.statusAt(step); {
	case status == Held && s.Hold.Class == Interrupted:
		return WaitsForMessage
	case status == Held:
		return WaitsForRelease
	case status == Waiting && calls:
		return s.CallWaitsFor()
	case status == Waiting && s.AsksAboutText():
		return WaitsForApproval
	case status == Waiting && s.Mode == Task && len(s.inBackground()) > 0:
		return WaitsForSubAgents
	case status == Waiting:
		return WaitsForMessage
	case calls && !slices.ContainsFunc(tools.Calls, func(c Call) bool { return c.Child == "" }):
		return WaitsForSubAgents
	}
	return ""
}

// CallWaitsFor returns what the first call that waits for somebody outside waits for: see [Call.Waits]. If there is none, and a person is
// asked about a text, it returns [WaitsForApproval], and "" otherwise. Other calls may run meanwhile.
func (s *State) CallWaitsFor() WaitsFor {
	for _, c := range s.Calls {
		if c.WaitsFor() != "" {
			return c.WaitsFor()
		}
	}
	if s.AsksAboutText() {
		return WaitsForApproval
	}
	return ""
}

// WaitsFor returns what a call that waits for somebody outside waits for. It returns "" for any other call, and for a call about which
// the driver still has to ask other runs: see [Call].Search.
func (c *Call) WaitsFor() WaitsFor {
	if !c.Waits() || c.Search {
		return ""
	}
	return c.Wait.For
}
