package agent

import "slices"

// Approval is the approval state of a tool call. It is empty for a call that needs no approval.
type Approval string

const (
	// Asked means that the call waits for a person to decide.
	Asked Approval = "asked"
	// Approved means that a person has approved the call, so it may run.
	Approved Approval = "approved"
)

// Decision is a person's decision on one tool call. It names the call by its key. The key depends on the arguments, so
// the decision applies only to the arguments that the person saw.
type Decision struct {
	Key     Key  `json:"key"`
	Approve bool `json:"approve"`
	// Reason is the reason for a denial. The model reads it.
	Reason string `json:"reason,omitempty"`
	// Arguments replace the model's arguments. If it is empty, the model's arguments stay.
	Arguments string `json:"arguments,omitempty"`
	// Used reports whether the decision has been applied to its call.
	Used bool `json:"used,omitempty"`
}

// maxDecisions is the largest number of decisions in a state. If the state has this number of decisions and a new one
// comes, the oldest one is removed. The state keeps a decision even after it was applied to its call, so that a second
// delivery of the same decision changes nothing. The state also keeps a decision whose call does not exist yet: after a
// reset, Temporal delivers all earlier decisions at once.
const maxDecisions = 1000

// ask makes a call wait for a decision, unless the state already has an unused decision for the call. In that case, ask
// applies the decision at once.
func (s *State) ask(c *Call) {
	c.Approval = Asked
	i := slices.IndexFunc(s.Decisions, func(d Decision) bool { return d.Key == c.Key && !d.Used })
	if i >= 0 {
		s.Decisions[i].Used = true
		s.decide(c, s.Decisions[i], s.Messages[len(s.Messages)-1].Time)
	}
}

// decided stores a new decision and returns true. If the decision's call already waits for a decision, decided also
// applies the decision to the call. If the state already has a decision for this call, decided does nothing and returns
// false.
func (s *State) decided(e Decided) bool {
	if slices.ContainsFunc(s.Decisions, func(d Decision) bool { return d.Key == e.Decision.Key }) {
		return false
	}
	if len(s.Decisions) >= maxDecisions {
		s.Decisions = slices.Delete(s.Decisions, 0, 1)
	}
	e.Decision.Used = false
	s.Decisions = append(s.Decisions, e.Decision)
	if s.Definition == nil {
		return true // the definition is being read again, and the new one may change the call's tool
	}
	for i := range s.Calls {
		if c := &s.Calls[i]; c.Key == e.Decision.Key && c.Approval == Asked && c.Result == nil {
			s.Decisions[len(s.Decisions)-1].Used = true
			s.decide(c, e.Decision, e.Time)
			s.advanceTranscript(e.Time)
			break
		}
	}
	return true
}

// decide applies a decision to a call. A denial becomes the call's result. Changed arguments give the call a new key.
func (s *State) decide(c *Call, d Decision, now int64) {
	if !d.Approve {
		c.Result = &Result{Content: textDenied(d.Reason), IsError: true, Time: now}
		return
	}
	c.Approval = Approved
	if d.Arguments != "" && d.Arguments != c.Arguments {
		c.Arguments = d.Arguments
		c.Key = s.toolKey(c.Model, c.Position, c.Name, c.Arguments)
	}
	// The sub-agent is created only now, because it gets the approved arguments.
	if tool, _ := s.Definition.Tool(c.Name); tool.Agent != "" {
		s.openChild(c, tool, s.slice(1), now)
	}
}
