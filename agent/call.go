package agent

import (
	"slices"

	"github.com/reagent-dev/reagent/llm"
)

// Call is one tool call of the model. It is identified by its key: the model key of the
// reply that asked, its position in that reply, tool and arguments.
type Call struct {
	Key       Key    `json:"key"`
	Model     Key    `json:"model"`
	Position  int    `json:"position"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	// Child is the key of the sub-agent that the call waits for; empty for a tool.
	Child Key `json:"child,omitempty"`
	// Began is the time at which the call began to wait for its sub-agent, in Unix milliseconds; 0 if it has not begun.
	Began int64 `json:"began,omitempty"`
	// Failed says that the call was told that its sub-agent ended without an answer.
	Failed   bool     `json:"failed,omitempty"`
	Approval Approval `json:"approval,omitempty"`
	Result   *Result  `json:"result,omitempty"`
}

// Result is the result of a call. There is one for each call; an error is a result.
type Result struct {
	Content string `json:"content"`
	IsError bool   `json:"is_error,omitempty"`
	// Interrupted says that this is not the call's own result, which may still come
	// and then repairs it, once.
	Interrupted bool  `json:"interrupted,omitempty"`
	Time        int64 `json:"time"`
}

// maxInterrupted bounds the calls whose late result is still taken.
const maxInterrupted = 100

// openCalls returns a copy of the calls without a result.
func (s *State) openCalls() []Call {
	if !s.hasOpenCall() {
		return nil
	}
	open := make([]Call, 0, len(s.Calls))
	for _, c := range s.Calls {
		if c.Result == nil {
			open = append(open, c)
		}
	}
	return open
}

// hasOpenCall reports whether a call has no result.
func (s *State) hasOpenCall() bool {
	return slices.ContainsFunc(s.Calls, func(c Call) bool { return c.Result == nil })
}

// BatchSize returns how many calls of the last reply were not refused for their number.
func (s *State) BatchSize() int { return s.Definition.runs(len(s.Calls)) }

// runs returns how many calls of a reply that asked for so many may run.
func (d *Definition) runs(calls int) int {
	if limit := d.Limits.CallsPerReply; limit > 0 {
		return min(calls, limit)
	}
	return calls
}

// Pending returns the calls without a result, in the model's order.
func (s *State) Pending() []Call { return s.openCalls() }

// openAll turns the tool calls of a reply into calls, answering at once those that
// cannot be run: all of them where there is a refusal.
func (s *State) openAll(model Key, calls []llm.ToolCall, refusal string, now int64) {
	s.Calls = make([]Call, 0, len(calls))
	runs := s.Definition.runs(len(calls))
	children := 0
	for _, tc := range calls[:runs] {
		if tool, _ := s.Definition.Tool(tc.Name); tool.Agent != "" {
			children++
		}
	}
	grant := s.slice(children)
	for i, tc := range calls {
		c := Call{
			Key:   s.toolKey(model, i, tc.Name, tc.Arguments),
			Model: model, Position: i,
			CallID: tc.ID, Name: tc.Name, Arguments: tc.Arguments,
		}
		refuse := func(text string) { c.Result = &Result{Content: text, IsError: true, Time: now} }
		tool, known := s.Definition.Tool(tc.Name)
		switch {
		case refusal != "":
			refuse(refusal)
		case i >= runs:
			refuse(textTooManyCalls(len(calls), runs))
		case !known:
			refuse(textUnknownTool(tc.Name, s.Definition.toolNames()))
		case tc.Arguments != "" && !isObject(tc.Arguments):
			refuse(textBadArguments(tc.Name))
		case tool.Approval:
			s.ask(&c)
		case tool.Agent != "":
			s.openChild(&c, tool, grant, now)
		}
		s.Calls = append(s.Calls, c)
	}
}

// uniqueIDs gives an ID to calls that have none or share one, since within a
// message it pairs a call with its result.
func uniqueIDs(model Key, calls []llm.ToolCall) []llm.ToolCall {
	calls = slices.Clone(calls)
	seen := map[string]bool{}
	for i, c := range calls {
		if c.ID == "" || seen[c.ID] {
			calls[i].ID = "call_" + digest([]any{model, i})[:24]
		}
		seen[calls[i].ID] = true
	}
	return calls
}

func (s *State) toolFinished(e ToolFinished) bool {
	i := slices.IndexFunc(s.Calls, func(c Call) bool { return c.Key == e.Key && c.Child == "" })
	if i < 0 {
		return s.repairLater(nil, e.Result, func(c Call) bool { return c.Key == e.Key && c.Child == "" })
	}
	if !s.answer(&s.Calls[i], e.Result) {
		return false
	}
	if e.Recalled {
		s.Usage.Recalled++
	}
	s.advanceTranscript(e.Result.Time)
	return true
}

// unanswered reports whether the result r of c is not that of its tool or sub-agent, which may still come: r tells of an
// interruption, or of a sub-agent that ended without an answer and may be resumed.
func (c *Call) unanswered(r *Result) bool {
	return r.Interrupted || c.Child != "" && r.IsError
}

// answer gives c its result. One that tells of an interruption or a failure gives way to the real one.
func (s *State) answer(c *Call, r Result) bool {
	if c.Result != nil && (!c.unanswered(c.Result) || r.Interrupted || c.unanswered(&r) && !c.Result.Interrupted) {
		return false
	}
	if c.Result != nil {
		s.Usage.Repaired++
	}
	c.Result = &r
	return true
}

// repairLater takes the real result of an interrupted call that is in the
// transcript already. The newest call that fits gets it: as a message, since the
// transcript is never edited. Child is the sub-agent whose result it is; nil for a tool's. After the failure of a
// sub-agent its answer may still come.
func (s *State) repairLater(child *Child, r Result, fits func(Call) bool) bool {
	if r.Interrupted {
		return false
	}
	for i, c := range slices.Backward(s.Interrupted) {
		if !fits(c) || c.Failed && c.unanswered(&r) {
			continue
		}
		after := 0
		if child != nil {
			child.Answered, after = c.Key, child.After
		}
		s.Usage.Repaired++
		s.Inbox = append(s.Inbox, late(c, r, after))
		if s.Interrupted[i].Failed = c.unanswered(&r); !s.Interrupted[i].Failed {
			s.Interrupted = slices.Delete(s.Interrupted, i, i+1)
		}
		return true
	}
	return false
}

// lateID returns the ID of the message with the late result of a call, or, with again, of the message with the answer of a
// sub-agent whose failure the call was told. No client's message has it: those have no space in their IDs.
func lateID(call Key, again bool) string {
	if again {
		return "late " + string(call) + " resumed"
	}
	return "late " + string(call)
}

// late returns the message that brings the late result of a call.
func late(c Call, r Result, after int) InboxMessage {
	return InboxMessage{
		ID: lateID(c.Key, c.Failed), Text: textLate(c.Name, c.CallID, r.Content), Steer: true, After: after,
		Late: &LateResult{Call: c.Key, Child: c.Child, Result: r}, Time: r.Time,
	}
}

// repaired reports whether the late answer to a call is in the inbox.
func (s *State) repaired(call Key) bool {
	return slices.ContainsFunc(s.Inbox, func(m InboxMessage) bool {
		return m.Late != nil && m.Late.Call == call && !m.Late.Result.IsError
	})
}

// interruptAll answers every open call: started ones with an unknown outcome,
// since a tool may have done its work.
func (s *State) interruptAll(why string, now int64) {
	for i := range s.Calls {
		c := &s.Calls[i]
		switch {
		case c.Result != nil:
		case c.Approval == Asked:
			c.Result = &Result{Content: textNotRun(why), IsError: true, Time: now}
		default:
			c.Result = &Result{Content: textStopped(why), IsError: true, Interrupted: true, Time: now}
			if child := s.child(c.Child); child != nil {
				child.Interrupted = true
			}
		}
	}
}

// answerCalls moves the calls' results into the transcript together, in the order in which
// the model asked, once the last one is in: so the next request does not depend on
// the order of arrival.
func (s *State) answerCalls() {
	if len(s.Calls) == 0 || s.hasOpenCall() {
		return
	}
	for _, c := range s.Calls {
		s.append(Message{Message: result(c.CallID, c.Result.Content), Key: c.Key, Time: c.Result.Time})
		s.Usage.ToolCalls++
		if c.Result.Interrupted {
			s.Usage.Interrupted++
		}
		if c.unanswered(c.Result) && !s.repaired(c.Key) {
			c.Failed = c.Failed || !c.Result.Interrupted
			c.Result = nil
			s.Interrupted = append(s.Interrupted, c)
		}
	}
	if extra := len(s.Interrupted) - maxInterrupted; extra > 0 {
		s.Interrupted = slices.Delete(s.Interrupted, 0, extra)
	}
	s.Calls = nil
}
