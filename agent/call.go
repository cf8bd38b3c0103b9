package agent

import (
	"slices"

	"github.com/reagent-dev/reagent/llm"
)

// Call is a call of a tool or of a sub-agent, for which a model reply has asked.
type Call struct {
	// Key identifies the call: see [Key]. It is a hash of the fields Model, Position, Name and Arguments, and of the caller's reference. A call
	// that runs again with the answer to an [Elicitation] has another key.
	Key Key `json:"key"`
	// Model is the key of the model call whose reply asks for this call.
	Model Key `json:"model"`
	// Position is the index of this call among the calls of the reply.
	Position int `json:"position"`
	// CallID connects the call with its result in a request to the model.
	CallID string `json:"call_id"`
	// Name is the name of the tool or of the sub-agent.
	Name string `json:"name"`
	// Arguments are the arguments as JSON text.
	Arguments string `json:"arguments"`
	// Child is the key of the sub-agent that works for the call. It is empty for a call of a tool, and for a call that has no sub-agent,
	// because the call was refused or waits for an approval.
	Child Key `json:"child,omitempty"`
	// Began is the time at which the call began to wait for its sub-agent, in Unix milliseconds. 0 means that the
	// wait has not begun.
	Began int64 `json:"began,omitempty"`
	// Background reports whether the call has got its result at once, because its sub-agent works in the background.
	Background bool `json:"background,omitempty"`
	// To is the key of the sub-agent to which the call sends a message, with the tool [Agents]. It is empty for all other calls.
	To Key `json:"to,omitempty"`
	// Failed reports whether the call was answered with the failure of its sub-agent, at once or by a late result.
	Failed bool `json:"failed,omitempty"`
	// Wait says what the call waits for outside the agent, such as an approval.
	Wait CallWait `json:"wait,omitzero"`
	// Waited are the waits for somebody outside that the call has begun, oldest first, also those that have ended. The message with the
	// result keeps them.
	Waited []Waited `json:"waited,omitempty"`
	// Elicitation is the last question that the tool of the call has asked a person; nil if there was none.
	Elicitation *Elicitation `json:"elicitation,omitempty"`
	// Decider says who has decided on the call; nil if nobody has. If the call needs an approval and [Decider].Denied is false, a person
	// has approved the call.
	Decider *Decider `json:"decider,omitempty"`
	// Edited reports whether a person has changed the arguments. The result then tells the model so.
	Edited bool `json:"edited,omitempty"`
	// Search reports whether the driver has to ask other runs about the call before anything else happens to it: see [CallFound]. After a
	// reset, another run may have told the model the result of the call, or have begun the call.
	Search bool `json:"search,omitempty"`
	// Stopped is a result that the call gets after the driver has asked other runs about it, if none of them has told the model a result.
	// For example, the agent has stopped waiting for the call, or the result came during the search. Stopped is nil outside a search. If
	// Stopped is set, Search is true.
	Stopped *Result `json:"stopped,omitempty"`
	// Judged reports whether guardrails judge the answer of a person to the question of the call: see [TextCheck].
	Judged bool `json:"judged,omitempty"`
	// Told reports whether Result is a result that another run has told the model. The agent never replaces such a result. If the real
	// result comes, it becomes a late result: see [LateResult].
	Told bool `json:"told,omitempty"`
	// Result is the result of the call; nil if there is none yet. It is also nil for the calls in
	// [State].Unanswered.
	Result *Result `json:"result,omitempty"`
}

// maxUnanswered is the largest number of calls in [State].Unanswered. A further call removes the oldest one, which can then no longer get
// a late result: see [LateResult]. Calls whose sub-agents work in the background are removed last.
const maxUnanswered = 100

// first returns the first element that fits, in place; nil if there is none.
func first[T any](all []T, fits func(*T) bool) *T {
	for i := range all {
		if fits(&all[i]) {
			return &all[i]
		}
	}
	return nil
}

// call returns the call in `s.Calls` with the given key; nil if there is none.
func (s *State) call(key Key) *Call {
	return first(s.Calls, func(c *Call) bool { return c.Key == key })
}

// Pending returns the calls that have no result yet, in the order in which the model asked for them, in a new slice.
func (s *State) Pending() []Call {
	if !s.hasOpenCall() {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.Calls), func(c Call) bool { return c.Result != nil })
}

func (s *State) hasOpenCall() bool {
	return slices.ContainsFunc(s.Calls, func(c Call) bool { return c.Result == nil })
}

// BatchSize returns how many calls of the last model reply may run. This is at most [Limits].CallsPerReply, if this
// limit is set. BatchSize returns 0 if no call is open. The results of all these calls have to fit into one Temporal
// history. Therefore each result is cut to a smaller size if there are many calls.
func (s *State) BatchSize() int { return s.Definition.runs(len(s.Calls)) }

// runs returns how many calls of one model reply may run. The parameter `calls` is the number of calls in the reply.
func (d *Definition) runs(calls int) int {
	if limit := d.Limits.CallsPerReply; limit > 0 {
		return min(calls, limit)
	}
	return calls
}

// FreeCall is a call of a reply that needs no approval by the rule of its tool: see [Tool].ApprovalRule. The worker that got the reply has
// evaluated the rule, and the result of the model call records this. So the decision is the same in each run that has the reply. A call that
// is not recorded so needs an approval, for example because the rule failed, or because the definition has another rule now.
type FreeCall struct {
	// Position is the position of the call in the reply.
	Position int `json:"position"`
	// Rule is the rule by which the call needs no approval.
	Rule string `json:"rule"`
}

// openAll sets `s.Calls` to the calls of a new model reply. The parameter `model` is the key of the model call. A
// call that cannot run gets an error result at once. If `refusal` is not empty, no call runs, and `refusal` becomes
// the result of every call, unless an earlier run has another one.
func (s *State) openAll(model Key, calls []llm.ToolCall, free []FreeCall, refusal string, now int64) {
	s.Calls = make([]Call, 0, len(calls))
	runs := s.Definition.runs(len(calls))
	children := 0
	for _, tc := range calls[:runs] {
		if tool, _ := s.Definition.Tool(tc.Name); tool.Agent != "" {
			children++
		}
	}
	part := s.slice(children)
	for i, tc := range calls {
		c := Call{
			Key:   s.ToolKey(model, i, tc.Name, tc.Arguments, s.callerReference()),
			Model: model, Position: i,
			CallID: tc.ID, Name: tc.Name, Arguments: tc.Arguments,
		}
		refuse := func(text string) { c.Result = &Result{Content: text, Kind: Errored, Time: now} }
		tool, known := s.Definition.Tool(tc.Name)
		switch {
		case refusal != "":
			// An earlier run may have known less of what the sub-agents had spent, and have run the call.
			s.stop(&c, Result{Content: refusal, Kind: NotRun, Time: now})
		case i >= runs:
			refuse(textTooManyCalls(len(calls), runs))
		case !known:
			refuse(textUnknownTool(tc.Name, s.Definition.toolNames()))
		case tc.Arguments != "" && !unambiguousObject(tc.Arguments):
			refuse(textBadArguments(tc.Name))
		case tc.Name == Agents && tool.Ref == Agents:
			s.manageAgents(&c, now)
		case tool.asks(i, free):
			c.wait(WaitsForApproval, tool, now)
			s.settle(&c, now)
		default:
			s.begin(&c, tool, part, now)
		}
		s.Calls = append(s.Calls, c)
	}
}

// begin prepares a call that may run:
//
//   - A call of a sub-agent gets its sub-agent, with the given part of the budget.
//   - An external call begins to wait for its result.
//   - Any other call needs nothing, because a worker runs it.
func (s *State) begin(c *Call, tool Tool, part share, now int64) {
	switch {
	case tool.Agent != "":
		s.openChild(c, tool, part, now)
	case tool.Effect == EffectExternal:
		s.hand(c, tool, now)
	}
}

// uniqueIDs returns a copy of the calls of one model reply. In the copy, no two calls have the same ID. The ID
// connects a call with its result in a request. A call gets a new ID if it has none, or if an earlier call has the
// same ID. The new ID is a hash of the position of the call in the reply, and of `model`, the key of the model call.
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

func (e ToolFinished) apply(s *State) bool {
	isCalled := func(c *Call) bool { return c.Key == e.Key && c.Child == "" }
	c := first(s.Calls, isCalled)
	switch {
	case c != nil && c.elicits():
		return false // the call goes on under another key
	case e.Elicitation != nil && (c == nil || c.Result != nil):
		return false // the agent has stopped waiting for the call, so nobody is to answer
	case e.Elicitation != nil:
		s.elicit(c, *e.Elicitation, e.Result.Time)
	case c == nil, c.Told:
		return s.repairLater(nil, e.Result, isCalled)
	case !s.answer(c, e.Result):
		return false
	}
	if e.Recalled {
		s.Usage.Recalled++
	}
	s.advanceTranscript(e.Result.Time)
	return true
}

// awaitsLate reports whether a late result may come for the call while the call is still in `s.Calls`: see [Call].Told.
func (c *Call) awaitsLate() bool { return c.Told && c.Result != nil && c.Result.Kind.unanswered() }

// answer makes r the result of the call c, and reports whether it did so. If the call already has a result, r replaces the old result in
// two cases only:
//
//   - The old result stands in for the real one (see [ResultKind.StandsIn]), and r does not.
//   - The old result is the failure of a sub-agent, and r is the sub-agent's answer.
//
// There are two exceptions. If [Call].Told is set, r never replaces the old result. If [Call].Stopped is set, the call has no result yet,
// and r replaces Stopped by the same two rules.
func (s *State) answer(c *Call, r Result) bool {
	has := c.Result
	if has == nil {
		has = c.Stopped // the driver asks other runs first
	}
	if has != nil && (c.Told || !has.Kind.unanswered() || r.Kind.StandsIn() || r.Kind.unanswered() && !has.Kind.StandsIn()) {
		return false
	}
	if c.Result == nil && c.Stopped != nil {
		c.Stopped = &r
		return true
	}
	if c.Result != nil && !c.Background {
		s.Usage.Repaired++
	}
	c.Result = &r
	return true
}

// repairLater puts a message with the late result r into the queue: see [LateResult]. The message is for the newest call that `fits`
// accepts, among the calls in s.Unanswered and those calls in s.Calls for which [Call.awaitsLate] is true. The parameter `child` is the
// sub-agent that has ended. It is nil if r is the result of a tool.
//
// repairLater returns false in three cases:
//
//   - r itself stands in for the real result.
//   - r is a sub-agent's answer, and a message in the queue brings the answer already.
//   - No call may get r. A call that has got the failure of its sub-agent may get only the sub-agent's answer.
func (s *State) repairLater(child *Child, r Result, fits func(*Call) bool) bool {
	if r.Kind.StandsIn() || child != nil && !r.Kind.IsError() && s.bringsAnswer(child.Key) {
		return false
	}
	for i, c := range slices.Backward(slices.Concat(s.Unanswered, s.Calls)) {
		if !fits(&c) || c.Failed && r.Kind.unanswered() || i >= len(s.Unanswered) && !c.awaitsLate() {
			continue
		}
		after := 0
		if child != nil {
			child.Answered = c.Key
			after = max(child.After, s.Entry()) // after the reply to a model call in flight, also in a run that a reset begins before that reply
		}
		if !c.Background {
			s.Usage.Repaired++
		}
		s.Queue = append(s.Queue, late(c, r, after))
		failed := r.Kind.unanswered()
		switch open := i - len(s.Unanswered); {
		case open >= 0:
			s.Calls[open].Failed = failed
		case failed:
			s.Unanswered[i].Failed = true
		default:
			s.Unanswered = slices.Delete(s.Unanswered, i, i+1)
		}
		return true
	}
	return false
}

// settleStopped decides what becomes of [Call].Stopped when the driver has asked the other runs about the call c:
//
//   - If no other run has told the model a result, Stopped becomes the result of the call.
//   - If another run has told a result that a better one may replace (see [ResultKind.unanswered]), and Stopped is better, Stopped
//     becomes a late result: see [LateResult].
//   - In all other cases, Stopped is dropped.
func (s *State) settleStopped(c *Call) {
	waits := c.Stopped
	c.Search, c.Stopped = false, nil
	child := s.child(c.Child)
	switch {
	case waits == nil:
	case c.Result == nil:
		if c.Result = waits; child != nil && waits.Kind.StandsIn() {
			s.detach(child, c)
		} else if child != nil {
			s.took(c)
		}
	case c.Result.Kind.unanswered() && !waits.Kind.unanswered():
		s.repairLater(child, *waits, func(told *Call) bool { return told.Key == c.Key })
	}
}

// BringsLateResult reports whether the message brings the late result of a call: see [LateResult]. Such a message has the role of a
// user, but no user has written it.
func (m Message) BringsLateResult() bool { return m.Role == llm.User && m.Key.Kind() == KindLate }

// late returns the message with r, a late result of the call c: see [LateResult]. The message may enter the running turn only when the
// transcript has at least `after` messages. 0 means that there is no such condition.
func late(c Call, r Result, after int) QueuedMessage {
	lead := textLate
	if c.Background {
		lead = textBackgroundResult
	}
	m := QueuedMessage{
		ID: string(lateKey(c.Key, c.Failed)), Text: lead(c.Name, c.CallID), Steer: true, After: after,
		Late: &LateResult{Call: c.Key, Child: c.Child, Result: r}, Time: r.Time,
	}
	m.Late.At = len(m.Text)
	m.Text += r.Content
	return m
}

// repaired reports whether the queue has a late result (see [LateResult]) of the call with the given key. A late
// result that is an error does not count.
func (s *State) repaired(call Key) bool {
	return slices.ContainsFunc(s.Queue, func(m QueuedMessage) bool {
		return m.Late != nil && m.Late.Call == call && !m.Late.Result.Kind.IsError()
	})
}

// interruptAll ends the wait for every open call. The parameter `why` is the reason, as a text for the model.
//
//   - A call that waits for an approval or for an answer was not run, and its result says this. So does that of a call whose answer
//     guardrails judge.
//   - Any other call may have done its work, also one that waits for its result from outside. Its result says that the outcome is
//     unknown, and the real result may still come.
//   - A call with [Call].Stopped keeps the result that is there.
func (s *State) interruptAll(why string, now int64) {
	for i := range s.Calls {
		switch c := &s.Calls[i]; {
		case c.Result != nil, c.Stopped != nil:
		case c.Waits() && !c.handed(), c.Judged:
			s.stop(c, Result{Content: textNotRun(why), Kind: NotRun, Time: now})
		default:
			s.stop(c, outcomeUnknown(why, now))
		}
	}
}

// stop ends the wait for a call, and makes r its result. If an earlier run may have told the model another result, the driver asks the
// other runs first: see [Call].Stopped.
func (s *State) stop(c *Call, r Result) {
	if s.MayRecall(c.Key) {
		c.Stopped, c.Search = &r, true
		return
	}
	c.Result = &r
	if child := s.child(c.Child); child != nil && r.Kind.StandsIn() {
		s.detach(child, c)
	}
}

// answerCalls moves the results of `s.Calls` into the transcript when every call has a result. Before that, it does
// nothing. The results have the order of the calls in the reply. Therefore the next request does not depend on which
// result came first.
func (s *State) answerCalls() {
	if len(s.Calls) == 0 || s.hasOpenCall() {
		return
	}
	for _, c := range s.Calls {
		lead := ""
		if c.Edited {
			lead = textEdited(c.Arguments)
		}
		s.append(Message{
			Message: result(c.CallID, lead+c.Result.Content), Key: c.Key, Result: c.Result.Kind, ResultAt: len(lead),
			Decider: c.Decider, Child: c.Child, Waited: c.Waited, Time: c.Result.Time,
		})
		s.Usage.ToolCalls++
		if c.Result.Kind.StandsIn() && !c.Background {
			s.Usage.Unanswered++
		}
		if c.Result.Kind.unanswered() && !s.repaired(c.Key) {
			c.Failed = c.Failed || c.Result.Kind == NoAnswer
			c.Result, c.Stopped, c.Search, c.Told = nil, nil, false, false
			s.Unanswered = append(s.Unanswered, c)
		}
	}
	for len(s.Unanswered) > maxUnanswered {
		oldest := slices.IndexFunc(s.Unanswered, func(c Call) bool { return !c.Background })
		s.Unanswered = slices.Delete(s.Unanswered, max(oldest, 0), max(oldest, 0)+1)
	}
	s.Calls = nil
	s.Checks = slices.DeleteFunc(s.Checks, func(t TextCheck) bool { return t.Given != nil })
}
