package agent

import "slices"

// Approval says whether a person has approved a tool call. The empty Approval means that the call needs no approval.
type Approval string

const (
	// Asked means that a person was asked to approve the call, but has not approved it.
	Asked Approval = "asked"
	// Approved means that a person has approved the call. The call may run.
	Approved Approval = "approved"
)

// Decision is a person's decision on one tool call. The decision applies only to the arguments that the person saw.
type Decision struct {
	// Key is the key of the call. The key depends on the arguments of the call.
	Key Key `json:"key"`
	// Approve reports whether the person approves the call. False means a denial.
	Approve bool `json:"approve"`
	// Reason is the reason for a denial, as a text for the model.
	Reason string `json:"reason,omitempty"`
	// Arguments replace the model's arguments. Empty means that the model's arguments stay.
	Arguments string `json:"arguments,omitempty"`
	// Used reports whether the decision has been applied to its call.
	Used bool `json:"used,omitempty"`
}

// maxDecisions is the largest number of decisions in a state. A further decision removes the oldest one. A decision
// stays in the state after it was applied, because Temporal may deliver the decision again. A decision may also come
// before its call: after a reset, Temporal delivers all earlier decisions at once.
const maxDecisions = 1000

// ask makes the call wait for a person's decision. After a reset, the state may already have the decision. In that
// case, ask applies the decision at once.
func (s *State) ask(c *Call) {
	c.Approval = Asked
	i := slices.IndexFunc(s.Decisions, func(d Decision) bool { return d.Key == c.Key && !d.Used })
	if i >= 0 {
		s.Decisions[i].Used = true
		s.decide(c, s.Decisions[i], s.Messages[len(s.Messages)-1].Time)
	}
}

// decided stores a person's decision in the state. If the call waits for a decision, decided also applies the
// decision to the call. If the state already has a decision for the call, decided changes nothing and returns false.
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

// decide applies the decision d to the call c. A denial becomes the result of the call. An approval lets the call run.
// If the person has changed the arguments, the call gets the new arguments and a new key.
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
