package agent

import (
	"errors"
	"fmt"
	"slices"
)

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
	// By names the person who decided, and From names the program and the machine. The client of the person sets them, so
	// they are not proved.
	By   string `json:"by,omitempty"`
	From string `json:"from,omitempty"`
	// Time is the time of the decision, in Unix milliseconds.
	Time int64 `json:"time,omitempty"`
	// Used reports whether the decision has been applied to its call.
	Used bool `json:"used,omitempty"`
}

// These errors say why a decision is refused: see [State.AcceptsDecision].
var (
	// ErrNoCall means that the agent has no open call with the key of the decision. The call has never existed, has its result, or
	// has other arguments than those that the person saw.
	ErrNoCall = errors.New("no open call has this key: the call has its result already, or other arguments than those that were shown; list the calls again")
	// ErrNotAsked means that the call needs no approval.
	ErrNotAsked = errors.New("the call needs no approval")
	// ErrDecided means that a person has decided before.
	ErrDecided = errors.New("the call was decided before")
)

const (
	// maxReasonBytes is the largest size of [Decision].Reason, in bytes.
	maxReasonBytes = 4000
	// maxArgumentsBytes is the largest size of [Decision].Arguments, in bytes.
	maxArgumentsBytes = 1_000_000
	// maxDeciderBytes is the largest size of [Decision].By and of [Decision].From, in bytes.
	maxDeciderBytes = 200
)

// Check returns an error if a field of the decision is too large, or if the arguments are not a JSON object.
func (d Decision) Check() error {
	switch {
	case d.Key.Kind() != KindTool:
		return fmt.Errorf("decision: the key %q is not the key of a call", d.Key)
	case len(d.Reason) > maxReasonBytes:
		return fmt.Errorf("decision: the reason has %d bytes; the limit is %d", len(d.Reason), maxReasonBytes)
	case len(d.Arguments) > maxArgumentsBytes:
		return fmt.Errorf("decision: the arguments have %d bytes; the limit is %d", len(d.Arguments), maxArgumentsBytes)
	case len(d.By) > maxDeciderBytes || len(d.From) > maxDeciderBytes:
		return fmt.Errorf("decision: the fields \"by\" and \"from\" may have %d bytes each", maxDeciderBytes)
	case d.Arguments != "" && !d.Approve:
		return errors.New("decision: a denial has no arguments")
	case d.Arguments != "" && !unambiguousObject(d.Arguments):
		return errors.New("decision: the arguments must be a JSON object")
	}
	return nil
}

// AcceptsDecision returns an error if the agent does not accept the decision now. The error is one of [ErrNoCall], [ErrNotAsked]
// and [ErrDecided], or that of [Decision.Check].
func (s *State) AcceptsDecision(d Decision) error {
	if err := d.Check(); err != nil {
		return err
	}
	if slices.ContainsFunc(s.Decisions, func(e Decision) bool { return e.Key == d.Key }) {
		return ErrDecided
	}
	i := slices.IndexFunc(s.Calls, func(c Call) bool { return c.Key == d.Key })
	switch {
	case i < 0 || s.Calls[i].Result != nil:
		return ErrNoCall
	case s.Calls[i].Approval != Asked:
		return ErrNotAsked
	}
	return nil
}

// asksPerson reports whether a call waits for a person's decision.
func (s *State) asksPerson() bool {
	return slices.ContainsFunc(s.Calls, func(c Call) bool { return c.Result == nil && c.Approval == Asked })
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
	e.Decision.Used, e.Decision.Time = false, e.Time
	s.Decisions = append(s.Decisions, e.Decision)
	if s.Definition == nil {
		return true // the definition is being read again, and the new one may change the call's tool
	}
	for i := range s.Calls {
		if c := &s.Calls[i]; c.Key == e.Decision.Key && c.Approval == Asked && c.Result == nil {
			s.Decisions[len(s.Decisions)-1].Used = true
			s.decide(c, e.Decision, e.Time)
			if !s.asksPerson() && s.Held == nil {
				s.Turn.Began = e.Time // the time in which the agent waited for a person does not count
			}
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
		c.Arguments, c.Edited = d.Arguments, s.KeyVersion >= 3
		c.Key = s.toolKey(c.Model, c.Position, c.Name, c.Arguments)
	}
	// The sub-agent is created only now, because it gets the approved arguments.
	if tool, _ := s.Definition.Tool(c.Name); tool.Agent != "" {
		s.openChild(c, tool, s.slice(1), now)
	}
}
