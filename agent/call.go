package agent

import (
	"slices"

	"github.com/reagent-dev/reagent/llm"
)

// Call is one tool call of the model. Its key identifies it. The key is a hash of the key of the model call (Model),
// the call's position in the reply, the tool's name and the arguments.
type Call struct {
	Key       Key    `json:"key"`
	Model     Key    `json:"model"`
	Position  int    `json:"position"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	// Child is the key of the sub-agent that the call waits for. It is empty for the call of a tool.
	Child Key `json:"child,omitempty"`
	// Began is the time at which the call began to wait for its sub-agent, in Unix milliseconds. It is 0 before that.
	Began int64 `json:"began,omitempty"`
	// Failed reports whether the call was answered with the failure of its sub-agent.
	Failed   bool     `json:"failed,omitempty"`
	Approval Approval `json:"approval,omitempty"`
	Result   *Result  `json:"result,omitempty"`
}

// Result is the result of a call. An error is a result, too, so the transcript has exactly one result for each call.
type Result struct {
	Content string `json:"content"`
	IsError bool   `json:"is_error,omitempty"`
	// Interrupted reports whether the call was answered as interrupted: its real result may still come later, as a late
	// result. A late result replaces this result if this result is not yet in the transcript. Otherwise the late result
	// enters the transcript as a message. A call gets at most one late result, with one exception: after the failure of
	// a sub-agent, the answer of the resumed sub-agent may follow.
	Interrupted bool  `json:"interrupted,omitempty"`
	Time        int64 `json:"time"`
}

// maxInterrupted is the largest number of calls in [State].Interrupted, which are the calls that still accept a late
// result. If there are more, the oldest ones are removed and accept no late result any more.
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

// hasOpenCall reports whether at least one call has no result.
func (s *State) hasOpenCall() bool {
	return slices.ContainsFunc(s.Calls, func(c Call) bool { return c.Result == nil })
}

// BatchSize returns how many calls of the last reply may run: see [Limits].CallsPerReply. It is 0 when no call is open.
func (s *State) BatchSize() int { return s.Definition.runs(len(s.Calls)) }

// runs returns how many calls may run if a reply has the given number of calls.
func (d *Definition) runs(calls int) int {
	if limit := d.Limits.CallsPerReply; limit > 0 {
		return min(calls, limit)
	}
	return calls
}

// Pending returns the calls without a result, in the model's order.
func (s *State) Pending() []Call { return s.openCalls() }

// openAll creates s.Calls from the calls of a reply. The parameter model is the key of the model call. A call that
// cannot run gets an error result at once. If refusal is not empty, every call gets it as its error result.
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

// uniqueIDs returns a copy of calls in which each call has an ID of its own. A call gets a new ID if it has none, or if
// an earlier call has the same one. In a request, the ID connects a call with its result.
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

// unanswered reports whether a better result than r may still come for the call. There are two cases. Either r says
// that the call was interrupted, or r is the failure of a sub-agent. A sub-agent that failed may be resumed, and may
// then answer.
func (c *Call) unanswered(r *Result) bool {
	return r.Interrupted || c.Child != "" && r.IsError
}

// answer gives a call the result r, and reports whether it did so. A call without a result always gets r. A call with a
// result gets r in two cases only. Either the old result says that the call was interrupted, and r does not say this.
// Or the old result is the failure of a sub-agent, and r is the sub-agent's answer.
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

// repairLater looks in s.Interrupted for a call that accepts r as a late result. It considers only the calls for which
// fits(call) is true, and takes the newest of them that accepts r. A call that already got the failure of its sub-agent
// accepts only the sub-agent's answer. If repairLater finds a call, it puts a message with r into the inbox and returns
// true; otherwise it returns false. The late result enters the transcript as a message, because the transcript is never
// edited. The parameter child is the sub-agent that has ended; it is nil if r is the result of a tool.
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

// lateID returns the ID of the message that brings the late result of the call with the given key. If the parameter
// again is true, the call already got the failure of its sub-agent, and the message brings the answer of the resumed
// sub-agent. This message has another ID. Both IDs have a space, so they never equal the message ID of a client.
func lateID(call Key, again bool) string {
	if again {
		return "late " + string(call) + " resumed"
	}
	return "late " + string(call)
}

// late returns the message with the late result r of the call c. The parameter after becomes the message's field After:
// see [InboxMessage].
func late(c Call, r Result, after int) InboxMessage {
	return InboxMessage{
		ID: lateID(c.Key, c.Failed), Text: textLate(c.Name, c.CallID, r.Content), Steer: true, After: after,
		Late: &LateResult{Call: c.Key, Child: c.Child, Result: r}, Time: r.Time,
	}
}

// repaired reports whether a late result for the given call waits in the inbox. A late result that is an error does not
// count.
func (s *State) repaired(call Key) bool {
	return slices.ContainsFunc(s.Inbox, func(m InboxMessage) bool {
		return m.Late != nil && m.Late.Call == call && !m.Late.Result.IsError
	})
}

// interruptAll answers every open call with an error result. The parameter why is the reason; the model reads it in
// each result. For a call that waits for approval, the result says that the call was not run. For every other call, it
// says that the call was interrupted and that the outcome is unknown, because the tool may have done its work.
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

// answerCalls moves the results of all calls into the transcript. It does nothing if a call is still open. The results
// enter in the order of the calls in the reply, so the next request does not depend on which result came first.
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
