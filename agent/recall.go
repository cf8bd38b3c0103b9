package agent

import (
	"cmp"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/llm"
)

// CallRecord is what an earlier run of the agent knew about one call when that run ended. If the earlier run was reset to a point before
// the call, the new run makes the same call again and gets this information. Therefore the new run gets the same transcript, even if the
// history of the call's sub-agent no longer exists.
type CallRecord struct {
	// Result is the result that answered the call. It is nil if the call had none, or only one that says that its turn was stopped: see
	// [State.CallRecord].
	Result *Result `json:"result,omitempty"`
	// Late are the late results of the call, oldest first.
	Late []RecordedResult `json:"late,omitempty"`
	// Phase says how far the sub-agent had come. For a call without a sub-agent, [ChildRuns] means that the call may have been run.
	Phase ChildPhase `json:"phase,omitempty"`
	// Spent is what the sub-agent had spent at its end; nil if unknown.
	Spent *Spending `json:"spent,omitempty"`
	// After is the number of messages after which the sub-agent's answer could have entered the transcript of the earlier run at its
	// end: see [State.Entry]. It is set if the call had a result, but the answer could still come: see [Child].After.
	After int `json:"after,omitempty"`
	// Decider says who had decided on the call; nil if nobody had. A call that was approved may have run.
	Decider *Decider `json:"decider,omitempty"`
	// Child is the key of the sub-agent of the call. If it is empty and there is a result, the call had no sub-agent.
	Child Key `json:"child,omitempty"`
	// Grant is what was reserved for the sub-agent: see [Child].Grant.
	Grant Grant `json:"grant,omitzero"`
	// Waited are the waits that the call had begun: see [Call].Waited.
	Waited []Waited `json:"waited,omitempty"`
}

// RecordedResult is a late result that an earlier run got for a call: see [LateResult].
type RecordedResult struct {
	// Result is the late result.
	Result Result `json:"result"`
	// After is the number of messages before this result in the transcript. For a result that is still in the queue, it is the smallest
	// possible number.
	After int `json:"after"`
	// For is the key of a second call for the same sub-agent, if that call got this result as its own. For is empty
	// if this result came as a message.
	For Key `json:"for,omitempty"`
}

// CallRecord returns what the state knows about a call. The state is the last one of an earlier run. The result is for a later run that
// makes the same call: see [CallRecord]. CallRecord reads only the fields Key, Name, CallID and Child of the call.
//
// CallRecord leaves out the result that a call got because its turn was stopped, by the time limit or by a person, unless the model was
// asked again afterwards. The later run is not stopped at that moment, so its call can wait for the real result. If the earlier run got
// the real result after the stop, [CallRecord].Result contains it.
//
// For a call without a sub-agent, such as a call that waits for an approval, see [State.recallTold].
func (s *State) CallRecord(call Call) CallRecord {
	r := s.callRecord(call)
	r.Waited = s.waitedOf(call.Key)
	return r
}

func (s *State) callRecord(call Call) CallRecord {
	var r CallRecord
	if had, opened := s.childOf(call.Key); opened {
		call.Child, r.Child = had, had
	}
	if call.Child == "" {
		return s.recallTold(call.Key)
	}
	r.Decider = s.deciderOf(call.Key)
	child := s.child(call.Child)
	if child != nil {
		r.Phase, r.Spent, r.Grant = child.Phase, child.Spent, child.Grant
	}
	result, found := s.resultOf(call.Key)
	if open := s.call(call.Key); open != nil && found {
		// The result is not in the transcript, so the model does not know it, and the real result may still replace it.
		found = open.Told || !result.Kind.unanswered()
		r.begun(!result.Kind.StandsIn())
	}
	if !found {
		return r
	}
	// A call is left unanswered also before its sub-agent is started.
	r.begun(!result.Kind.goesOn())
	if child == nil {
		r.Phase = ChildHasAnswered // only an ended sub-agent is removed from the state
	}
	if r.Late = s.lateResults(call); r.Phase != ChildHasAnswered {
		r.After = max(child.After, s.Entry())
	}
	switch {
	case result.Kind.goesOn():
		r.Result = &result
		if child != nil && child.Phase.Ended() && len(r.Late) == 0 && child.Answered != call.Key {
			r.Late = s.answerElsewhere(child)
		}
	case result.Kind != OutcomeUnknown, s.heardOf(call.Key):
		r.Result = &result
	case len(r.Late) > 0:
		r.Result, r.Late = &r.Late[0].Result, r.Late[1:]
	}
	return r
}

func (r *CallRecord) begun(begun bool) {
	if begun && r.Phase == ChildAsked {
		r.Phase = ChildRuns
	}
}

// Join adds what an older run knew about the same call, and reports whether still older runs may know more. The newest result that the
// model was told holds. A run that only recalled this result may not know whether the sub-agent was started and what came late. The older
// run may know.
func (r CallRecord) Join(older CallRecord) (all CallRecord, more bool) {
	all = r
	same := r.Result != nil && older.Result != nil && r.Result.Content == older.Result.Content
	if r.Result == nil || same && !r.Phase.Ended() && len(r.Late) == 0 {
		all = older
	}
	if same {
		all.After = max(r.After, older.After)
	}
	all.begun(r.Phase != ChildAsked || older.Phase != ChildAsked)
	all.Decider = cmp.Or(r.Decider, older.Decider)
	if all.Waited = r.Waited; len(all.Waited) == 0 {
		all.Waited = older.Waited
	}
	if all.Result == nil && all.Child == "" {
		all.Child, all.Grant = r.Child, r.Grant
	}
	return all, all.Result == nil || all.Result.Kind.StandsIn()
}

// resultOf returns the result of the call with the given key, without its time. The second value is false if the state has no result of
// the call.
func (s *State) resultOf(call Key) (result Result, found bool) {
	if c := s.call(call); c != nil && c.Result != nil {
		return Result{Content: c.Result.Content, Kind: c.Result.Kind}, true
	}
	if i := s.resultIndex(call); i >= 0 {
		return s.Messages[i].result(), true
	}
	return Result{}, false
}

// resultIndex returns the index in `s.Messages` of the result of the call with the given key; -1 if there is none.
func (s *State) resultIndex(call Key) int {
	return slices.IndexFunc(s.Messages, func(m Message) bool { return m.Role == llm.Tool && m.Key == call })
}

// childOf returns the key of the sub-agent of the call with the given key. The second result is false if the state does not have the call.
func (s *State) childOf(call Key) (child Key, found bool) {
	if c := s.call(call); c != nil {
		return c.Child, true
	}
	if i := s.resultIndex(call); i >= 0 {
		return s.Messages[i].Child, true
	}
	return "", false
}

// deciderOf returns who has decided on the call with the given key; nil if nobody has.
func (s *State) waitedOf(call Key) []Waited {
	if c := s.call(call); c != nil {
		return c.Waited
	}
	if i := s.resultIndex(call); i >= 0 {
		return s.Messages[i].Waited
	}
	return nil
}

func (s *State) deciderOf(call Key) *Decider {
	if c := s.call(call); c != nil {
		return c.Decider
	}
	if i := s.resultIndex(call); i >= 0 {
		return s.Messages[i].Decider
	}
	return nil
}

// lateResults returns the late results of a call: see [LateResult]. Each has its position in the transcript, counted from 0, in
// [RecordedResult].After. For a late result that still waits in the queue, the position is at least the current number of messages.
func (s *State) lateResults(call Call) []RecordedResult {
	var late []RecordedResult
	for _, key := range []Key{lateKey(call.Key, false), lateKey(call.Key, true)} {
		if i := slices.IndexFunc(s.Messages, func(m Message) bool { return m.Key == key }); i >= 0 {
			late = append(late, RecordedResult{Result: s.Messages[i].result(), After: s.Dropped + i})
		}
		if i := slices.IndexFunc(s.Queue, func(m QueuedMessage) bool { return m.ID == string(key) }); i >= 0 {
			late = append(late, RecordedResult{Result: s.Queue[i].Late.Result, After: max(s.Queue[i].After, s.Count())})
		}
	}
	return late
}

// answerElsewhere returns the sub-agent's answer as a late result of a call that was left unanswered: see [ResultKind.StandsIn]. Another
// call for the same sub-agent has got the answer, as its result or as a late result. answerElsewhere returns nil if the state does not
// have the answer.
//
// A later run may make the unanswered call, but not the other one. In that run, the late result enters the transcript as a message. Its
// position is directly after the position that the other call's result has in this run, or is that of the other call's late result.
func (s *State) answerElsewhere(child *Child) []RecordedResult {
	result, found := s.resultOf(child.Answered)
	switch {
	case !found, result.Kind == OutcomeUnknown:
		return nil
	case result.Kind.goesOn():
		late := s.lateResults(s.askedFor(child.Answered))
		for i := range late {
			late[i].For = child.Answered
		}
		return late
	}
	after := s.Count() + 1
	if i := s.resultIndex(child.Answered); i >= 0 {
		after = s.Dropped + i + 1
	}
	return []RecordedResult{{Result: result, After: after, For: child.Answered}}
}

// askedFor returns the call with the given key. If the call is no longer in `s.Calls`, only the fields Key, Name and CallID are set. Name
// and CallID are empty if the messages of the call were dropped: see [State.Drop].
func (s *State) askedFor(call Key) Call {
	if c := s.call(call); c != nil {
		return *c
	}
	c := Call{Key: call}
	for _, m := range slices.Backward(s.Messages) {
		switch {
		case m.Role == llm.Tool && m.Key == call:
			c.CallID = m.ToolCallID
		case c.CallID != "" && m.Role == llm.Assistant:
			if i := slices.IndexFunc(m.ToolCalls, func(asked llm.ToolCall) bool { return asked.ID == c.CallID }); i >= 0 {
				c.Name = m.ToolCalls[i].Name
			}
			return c
		}
	}
	return c
}

// waitsFor reports whether the queue has a late result that is reserved for the call with the given key: see
// [LateResult].For.
func (s *State) waitsFor(call Key) bool {
	return slices.ContainsFunc(s.Queue, func(m QueuedMessage) bool { return m.Late != nil && m.Late.For == call })
}

func (s *State) bringsAnswer(child Key) bool {
	return slices.ContainsFunc(s.Queue, func(m QueuedMessage) bool {
		return m.Late != nil && m.Late.Child == child && !m.Late.Result.Kind.IsError()
	})
}

// insertLateResult puts the message m, which brings a late result, into the queue: before the messages of users, and
// before late results that enter the transcript at a later position. So m enters the transcript before all of these,
// unless it has to wait for its own position: see [QueuedMessage].After.
func (s *State) insertLateResult(m QueuedMessage) {
	s.Usage.Repaired++
	i := slices.IndexFunc(s.Queue, func(o QueuedMessage) bool { return o.Late == nil || o.After > m.After })
	if i < 0 {
		i = len(s.Queue)
	}
	s.Queue = slices.Insert(s.Queue, i, m)
}

// recallTold returns what the state knows about a call without a sub-agent: who decided on it, whether it may have been run, and the
// result that the model was told. A result that says that the agent has stopped waiting counts only if the model was asked again
// afterwards. If not, a later run can still wait for the call.
func (s *State) recallTold(call Key) CallRecord {
	if c := s.call(call); c != nil {
		switch {
		case c.Result != nil && !c.Result.Kind.stops():
			return CallRecord{Result: c.Result, Decider: c.Decider, Phase: ChildRuns}
		case c.Waits(), c.Judged:
			return CallRecord{}
		}
		return CallRecord{Decider: c.Decider, Phase: ChildRuns}
	}
	i := s.resultIndex(call)
	if i < 0 {
		return CallRecord{}
	}
	m := s.Messages[i]
	r := CallRecord{Decider: m.Decider, Phase: ChildRuns}
	if result := m.result(); s.heard(i) || !result.Kind.stops() {
		r.Result = &result
	}
	return r
}

// heardOf reports whether the model was asked again after the result of the call with the given key.
func (s *State) heardOf(call Key) bool {
	i := s.resultIndex(call)
	return i >= 0 && s.heard(i)
}

// heard reports whether the model was asked again after the message with the given index.
func (s *State) heard(i int) bool {
	return slices.ContainsFunc(s.Messages[i:], func(m Message) bool { return m.Role == llm.Assistant && !m.Notice })
}

// foundWait applies what another run knows about an open call with [Call].Search. It returns false if there is no such call.
func (s *State) foundWait(e CallFound) bool {
	c := s.call(e.Key)
	if c == nil || !c.Search || c.Result != nil {
		return false
	}
	c.Search = false // before the core asks what the call waits for
	s.takeTold(c, e)
	if why, notRun := c.isNotRun(); notRun && e.Record.Phase != ChildAsked && c.Result == nil {
		// It may have been run there.
		unknown := outcomeUnknown(why, e.Time)
		c.Stopped = &unknown
	}
	s.settleStopped(c)
	s.supersede(e.Key, c)
	s.applyMeanwhile(c, e)
	return true
}

// takeTold gives the call c the result that another run has told the model. It changes only a call without a sub-agent that waits for
// somebody outside or has a result in [Call].Stopped.
func (s *State) takeTold(c *Call, e CallFound) {
	r := e.Record
	if r.Result == nil || c.Result != nil || c.Child != "" || !c.Waits() && c.Stopped == nil {
		return
	}
	c.told(*r.Result, e.Time)
	c.Decider = cmp.Or(c.Decider, r.Decider)
	s.Usage.Recalled++
}

// told gives the call a result that another run has told the model.
func (c *Call) told(r Result, now int64) {
	r.Time = now
	c.Result, c.Told = &r, true
}

// applyMeanwhile applies what came for the call during the search: first a person's approval, then a result from outside. Both may have
// come. The driver need not ask the other runs again: they have ended, so they cannot have learnt anything since.
func (s *State) applyMeanwhile(c *Call, e CallFound) {
	for range 2 {
		if c.Key == e.Key { // new arguments and the answer to a question give the call another key
			s.applyEarlier(c, e.Time)
		}
		if c.Key == e.Key {
			s.settleStopped(c) // an approved call may get its result at once
		}
	}
}

// isNotRun reports whether [Call].Stopped says that the call was not run, and returns the reason.
func (c *Call) isNotRun() (why string, notRun bool) {
	if c.Stopped == nil || c.Child != "" || c.Stopped.Kind != NotRun {
		return "", false
	}
	return strings.TrimPrefix(c.Stopped.Content, textNotRun("")), true
}

// supersede replaces the decisions on the call with the given key that were not applied and for which the call does not wait. They came
// too late, because another run has settled the call. The replacements say how.
func (s *State) supersede(key Key, c *Call) {
	for i := range s.Decisions {
		d := &s.Decisions[i]
		if d.Key != key || d.Used || c.waitsFor(*d) {
			continue
		}
		holds := Decision{Key: key, Approve: d.Result == nil && c.Decider != nil && !c.Decider.Denied, Used: true}
		if c.Decider != nil {
			holds.Actor, holds.Time = c.Decider.Actor, c.Decider.Time
		}
		if d.Result != nil {
			if c.Result == nil {
				continue // the call has not begun to wait for its result yet
			}
			holds.Result = &GivenResult{Hash: GivenResult{Content: c.Result.Content, IsError: c.Result.Kind.IsError()}.hash()}
		}
		*d = holds
	}
}

// apply brings in what other runs know about a call: first whether it was approved, then which sub-agent it had, and then its results.
func (e CallFound) apply(s *State) bool {
	approved := false
	if c := s.call(e.Key); c != nil && c.Result == nil {
		if len(c.Waited) < len(e.Record.Waited) {
			c.Waited = e.Record.Waited
		}
		approved = s.foundApproval(c, e)
		s.foundAssignment(c, e)
	}
	known := s.foundChild(e)
	changed := s.foundWait(e) || known || approved
	s.advanceTranscript(e.Time)
	return changed
}

// foundApproval approves the call if it waits for an approval and another run has one. The call has begun in the other run. So it begins
// here, too, and recalls its result.
func (s *State) foundApproval(c *Call, e CallFound) bool {
	by := e.Record.Decider
	if by == nil || by.Denied || !c.Search || c.Stopped != nil || !c.asksApproval() {
		return false
	}
	s.decide(c, Decision{Approve: true, Actor: by.Actor, Time: by.Time}, e.Time)
	c.Decider.Remembered = by.Remembered
	return true
}
