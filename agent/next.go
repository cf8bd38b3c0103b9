package agent

import (
	"slices"

	"github.com/reagent-dev/reagent/llm"
)

// Step is what the agent does next. The driver carries it out and applies what
// came of it.
type Step interface{ step() }

type (
	// Finish ends the agent.
	Finish struct{ Outcome Outcome }

	// Load reads the agent's definition.
	Load struct {
		Key   Key
		Agent string
	}

	// RunTools works off the calls that have no result, in the model's order. The
	// driver starts those it has not started, and waits.
	RunTools struct{ Calls []Call }

	// Compact asks the model for a summary of what is sent before the place From. Without a key there is
	// nothing that could be cut.
	Compact struct {
		Key   Key
		Count int // of the messages sent, the system message aside
		From  int
	}

	// TakeMessage moves a message from the inbox into the transcript.
	TakeMessage struct{ ID string }

	// CallModel asks the model.
	CallModel struct {
		Key   Key
		Count int // of the messages sent, the system message aside
	}

	// FindMessages looks for messages that other runs of the agent took and this one was not given: Temporal delivers
	// those of the run that was reset again, and not those of other runs that were reset from it.
	// Then is the step that follows where there are none.
	FindMessages struct {
		Key  Key
		Then Step
	}

	// Wait does nothing until an event arrives.
	Wait struct{}
)

func (Finish) step()       {}
func (Load) step()         {}
func (RunTools) step()     {}
func (Compact) step()      {}
func (TakeMessage) step()  {}
func (CallModel) step()    {}
func (FindMessages) step() {}
func (Wait) step()         {}

// CallsAtOnce is the number of calls of one agent that run at the same time, for the driver to give to
// [RunTools.Running]. It is far below the 2,000 pending activities that Temporal allows a workflow.
const CallsAtOnce = 32

// Running returns the calls that run now, in the model's order and at most limit of them: those that were started, and
// then the first of the others. Calls that wait for a person's approval are not among them.
func (r RunTools) Running(limit int, started func(Call) bool) []Call {
	free := limit
	runs := make([]bool, len(r.Calls))
	for i, c := range r.Calls {
		if runs[i] = c.Approval != Asked && started(c); runs[i] {
			free--
		}
	}
	running := make([]Call, 0, min(limit, len(r.Calls)))
	for i, c := range r.Calls {
		if !runs[i] && c.Approval != Asked && free > 0 {
			free--
			runs[i] = true
		}
		if runs[i] {
			running = append(running, c)
		}
	}
	return running
}

// Wants reports whether the step asks for the effect with the given key.
func Wants(step Step, key Key) bool {
	switch step := step.(type) {
	case Load:
		return step.Key == key
	case CallModel:
		return step.Key == key
	case Compact:
		return step.Key == key
	case FindMessages:
		return step.Key == key
	case RunTools:
		return slices.ContainsFunc(step.Calls, func(c Call) bool { return c.Key == key })
	}
	return false
}

// Advance carries out the steps that need nobody: taking messages from the inbox,
// holding a turn for which there is no room, and ending. It returns whether there was one.
func (s *State) Advance(now int64) bool {
	changed := false
	for {
		var e Event
		switch step := s.Next().(type) {
		case TakeMessage:
			e = MessageTaken{ID: step.ID, Time: now}
		case Compact:
			if step.Key != "" {
				return changed
			}
			e = noRoom(now)
		case Finish:
			e = Ended{}
		default:
			return changed
		}
		if !s.Apply(e) {
			return changed
		}
		changed = true
	}
}

// noRoom is the event of a context that is full and cannot be made shorter.
func noRoom(now int64) Event {
	return Stopped{
		Class: string(llm.ContextTooLong), Time: now,
		Message: "the conversation is longer than the model's context window, and a summary of its beginning does not make it fit: " +
			"lower limits.tool_result_bytes, give the agent fewer tools, or use a model with a larger window",
	}
}

// Next returns what to do now. The first rule that fits decides:
//
//  0. an outcome is set                         → Finish
//     there is no definition yet                → Load
//  1. calls have no result                      → RunTools
//     a reload was asked for, and no model is
//     being asked                               → Load
//  2. held                                      → Wait (chat), Finish failed (task)
//  3. the context is marked too long, in a turn → Compact
//  4. a steering message waits in the inbox,
//     and no reply is on its way                → Take
//  5. the last message is not the assistant's   → CallModel
//  6. a message waits in the inbox              → Take
//     else                                      → Wait (chat), Finish (task)
//     (in 4 and 6, where the run was reset and
//     has not looked for messages of other runs → FindMessages)
func (s *State) Next() Step {
	switch {
	case s.Outcome != nil:
		return Finish{*s.Outcome}
	case s.Definition == nil:
		return Load{Key: s.definitionKey(s.Agent, s.Reloads), Agent: s.Agent}
	case len(s.Calls) > 0:
		return RunTools{Calls: s.openCalls()}
	case s.reloads():
		return Load{Key: s.definitionKey(s.Agent, s.Reloads+1), Agent: s.Agent}
	case s.Held != nil:
		if s.Mode == Chat && !s.Closing {
			return Wait{}
		}
		return Finish{Outcome{Status: Failed, Answer: s.Answer(), Class: s.Held.Class, Message: s.Held.Message}}
	case s.TooLong && !s.answered():
		return s.compact()
	}
	var call CallModel
	if s.Count() > 0 && !s.answered() {
		call = CallModel{Key: s.ModelIdentity().Key(s.TranscriptHash), Count: s.SentCount()}
	}
	if i := s.steers(); i >= 0 && (call.Key == "" || call.Key != s.Asked) {
		return s.take(s.Inbox[i])
	}
	if call.Key != "" {
		return call
	}
	if len(s.Inbox) > 0 {
		return s.take(s.nextTurn())
	}
	var rest Step = Finish{Outcome{Status: Completed, Answer: s.Answer(), Stopped: s.Turn.Stopped}}
	if !s.Closing && (s.Mode == Chat || s.Count() == 0) {
		rest = Wait{}
	}
	return s.search(rest)
}

// take returns the step for a message that enters the transcript now.
func (s *State) take(m InboxMessage) Step { return s.search(TakeMessage{ID: m.ID}) }

// search returns then, or the search for messages of other runs that has to come before it. A run that was reset searches before it
// takes its first message, because it cannot tell which messages were sent later than those of other runs. The key holds the
// number of earlier searches and no run ID: after another reset the step stands in the history of another run.
func (s *State) search(then Step) Step {
	if s.Reset == s.Searched {
		return then
	}
	return FindMessages{Key: s.key(KindMessages, s.Searches), Then: then}
}
