package agent

import (
	"slices"

	"github.com/reagent-dev/reagent/llm"
)

// Call is one call of a tool or of a sub-agent that a model reply asks for. The key of a call is a hash of the model
// call's key, the position in the reply, the tool's name and the arguments.
type Call struct {
	Key Key `json:"key"`
	// Model is the key of the model call whose reply asks for this call. Position is the index of this call in the reply.
	// CallID is the ID that connects the call with its result in a request.
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

// Result is the result of a call, as the model gets it. An error is a result, too, so every call gets exactly one
// result in the transcript.
type Result struct {
	Content string `json:"content"`
	IsError bool   `json:"is_error,omitempty"`
	// Interrupted reports whether the call was answered as interrupted: this result says that the real result did not
	// come in time, or that nobody knows what the call has done. The real result may come later. It replaces this
	// result if this result is not yet in the transcript. Otherwise it is a late result: see [LateResult].
	Interrupted bool  `json:"interrupted,omitempty"`
	Time        int64 `json:"time"`
}

// maxInterrupted is the largest number of calls that accept a late result: see [State].Interrupted. If there are more,
// the oldest ones are removed, and no longer accept a late result.
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

// BatchSize returns how many tool calls of the last model reply may run, which is at most [Limits].CallsPerReply if
// this limit is set. It returns 0 when no call is open. If the number is large, each result is cut to a smaller size,
// so that all of them fit into one history.
func (s *State) BatchSize() int { return s.Definition.runs(len(s.Calls)) }

// runs returns how many calls of one model reply may run. The reply has the given number of calls (calls).
func (d *Definition) runs(calls int) int {
	if limit := d.Limits.CallsPerReply; limit > 0 {
		return min(calls, limit)
	}
	return calls
}

// Pending returns the calls that have no result yet, in the order in which the model asked for them.
func (s *State) Pending() []Call { return s.openCalls() }

// openAll sets s.Calls to the tool calls of a new reply. The key of the model call that brought the reply is in model. A tool
// call that cannot run gets an error result at once. If refusal is not empty, no tool call runs, and refusal is the error result
// of each.
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
		case tc.Arguments != "" && !unambiguousObject(tc.Arguments):
			refuse(textBadArguments(tc.Name))
		case tool.Approval:
			s.ask(&c)
		case tool.Agent != "":
			s.openChild(&c, tool, grant, now)
		}
		s.Calls = append(s.Calls, c)
	}
}

// uniqueIDs returns a copy of the given calls in which each call has an ID of its own. In a request, the ID connects a call with
// its result. A call gets a new ID if it has none, or if an earlier call has the same ID. The new ID is a hash of the call's
// position and of the key of the model call (model).
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

// unanswered reports whether a better result than r may still come for the call c. This is so in two cases: r says that
// the call was interrupted, or r is the failure of a sub-agent. A sub-agent that failed may be resumed, and may then
// answer.
func (c *Call) unanswered(r *Result) bool {
	return r.Interrupted || c.Child != "" && r.IsError
}

// answer gives the call c the result r, and reports whether it did so. If c has a result already, r replaces it in two
// cases only. The old result says that the call was interrupted, and r does not say this. Or the old result is the
// failure of a sub-agent, and r is the sub-agent's answer.
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

// repairLater handles a late result r: see [LateResult]. It looks in s.Interrupted for the newest call that accepts r, and puts a
// message with r into the inbox. It returns false if there is no such call. The given function (fits) selects the calls to look
// at. A call that already got the failure of its sub-agent accepts only the sub-agent's answer. The sub-agent that has ended
// (child) is nil if r is the result of a tool.
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

// lateID returns the ID of the message that brings a late result of the call with the given key: see [LateResult]. A call may
// first get the failure of its sub-agent and then the answer of the resumed sub-agent. The message with this answer (again) has
// another ID, because the failure may have come in a message, too. Both IDs have a space, so they never equal the message ID of a
// client.
func lateID(call Key, again bool) string {
	if again {
		return "late " + string(call) + " resumed"
	}
	return "late " + string(call)
}

// late returns the message that brings r, a late result of the call c: see [LateResult]. The message may enter the running turn
// only when the transcript has at least a given number of messages (after); 0 means that there is no such condition.
func late(c Call, r Result, after int) InboxMessage {
	return InboxMessage{
		ID: lateID(c.Key, c.Failed), Text: textLate(c.Name, c.CallID, r.Content), Steer: true, After: after,
		Late: &LateResult{Call: c.Key, Child: c.Child, Result: r}, Time: r.Time,
	}
}

// repaired reports whether the inbox has a late result for the call with the given key. A late result that is an error
// does not count.
func (s *State) repaired(call Key) bool {
	return slices.ContainsFunc(s.Inbox, func(m InboxMessage) bool {
		return m.Late != nil && m.Late.Call == call && !m.Late.Result.IsError
	})
}

// interruptAll gives every open call an error result, because the agent stops waiting for the calls. Each result names the reason
// (why) for the model. If a call waits for approval, its result says that the call was not run. Every other result says that the
// call was interrupted and that the outcome is unknown, because the tool may have done its work.
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

// answerCalls moves the results of all calls into the transcript, once every call has a result. Before that, it does
// nothing. The results enter in the order of the calls in the reply, so the next request does not depend on which
// result came first.
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
