package agent

import "slices"

// Approval is the state of a call that needs a person's approval.
type Approval string

const (
	// Asked calls wait for a person.
	Asked Approval = "asked"
	// Approved calls may run.
	Approved Approval = "approved"
)

// Decision is a person's word on one call. It is bound to the call's key, and so
// to the arguments that were shown.
type Decision struct {
	Key     Key  `json:"key"`
	Approve bool `json:"approve"`
	// Reason of a denial, which the model reads.
	Reason string `json:"reason,omitempty"`
	// Arguments replace those that the model gave; empty leaves them.
	Arguments string `json:"arguments,omitempty"`
	// Used says that the decision has been carried out.
	Used bool `json:"used,omitempty"`
}

// maxDecisions bounds the decisions that are remembered: those carried out, so that they count once,
// and those for calls that are not pending yet. A reset delivers all earlier
// decisions at once, before the calls they are for.
const maxDecisions = 1000

// ask makes a call wait for a person, unless the decision is known already.
func (s *State) ask(c *Call) {
	c.Approval = Asked
	i := slices.IndexFunc(s.Decisions, func(d Decision) bool { return d.Key == c.Key && !d.Used })
	if i >= 0 {
		s.Decisions[i].Used = true
		s.decide(c, s.Decisions[i], s.Messages[len(s.Messages)-1].Time)
	}
}

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
		return true // it is read anew, and may give the call's tool another meaning
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
	// A sub-agent is made when it is approved, of what was approved.
	if tool, _ := s.Definition.Tool(c.Name); tool.Agent != "" {
		s.openChild(c, tool, s.slice(1), now)
	}
}
