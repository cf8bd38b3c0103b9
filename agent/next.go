package agent

import (
	"slices"

	"github.com/reagent-dev/reagent/llm"
)

// Step is what the agent asks the driver to do next. The driver is the program that uses this package. It carries out
// the step, and applies the event that results from the step. Package `workflows` has the driver for Temporal.
type Step interface {
	// wants reports whether the step asks for the work with the given key: see [Wants].
	wants(key Key) bool
}

type (
	// Finish ends the agent.
	Finish struct{ Outcome Outcome }

	// Load reads the agent's definition.
	Load struct {
		Key   Key
		Agent string
	}

	// RunTools asks for the results of the calls that have none, in the model's order. The driver starts the calls
	// that [RunTools.Running] returns, except those in flight. It asks other runs about the calls with the field
	// [Call].Search, and applies [CallFound]. Then it waits for an event.
	RunTools struct{ Calls []Call }

	// Compact asks the model for a summary of the beginning of the transcript. If Key is empty, no summary can make the request shorter, or
	// the agent has made too many summaries before this reply. [State.Advance] then holds the turn: see [Hold].
	Compact struct {
		Key Key
		// Count is the number of messages in the request, without the system message.
		Count int
		// From is the number of messages that the summary replaces, counted from the beginning of the transcript.
		From int
	}

	// TakeMessage moves a message from the queue into the transcript.
	TakeMessage struct{ ID string }

	// CallModel calls the model with the request that has the given key.
	CallModel struct {
		Key Key
		// Count is the number of messages in the request, without the system message.
		Count int
	}

	// FindMessages searches other runs of the agent for messages and decisions that this run did not get. After a
	// reset, Temporal delivers again those of the run that was reset. Temporal does not deliver those that were sent to
	// other runs, such as a run that an earlier reset or a resume began. Nothing begins during the search, because a
	// person may have denied it in another run.
	FindMessages struct {
		Key Key
		// Then is the step that follows if the search finds nothing. Work in flight that this step wants is not stopped: see [Wants].
		Then Step
	}

	// Wait does nothing until an event comes.
	Wait struct{}
)

func (Finish) wants(Key) bool             { return false }
func (s Load) wants(key Key) bool         { return s.Key == key }
func (s Compact) wants(key Key) bool      { return s.Key == key }
func (TakeMessage) wants(Key) bool        { return false }
func (s CallModel) wants(key Key) bool    { return s.Key == key }
func (s FindMessages) wants(key Key) bool { return s.Key == key || s.Then.wants(key) }
func (Wait) wants(Key) bool               { return false }

func (r RunTools) wants(key Key) bool {
	return slices.ContainsFunc(r.Calls, func(c Call) bool { return c.Key == key && c.Stopped == nil })
}

// CallsAtOnce is the largest number of calls of one agent that run at the same time. The driver passes it to
// [RunTools.Running]. Temporal allows far more for a workflow: 2,000 pending activities.
const CallsAtOnce = 32

// Running returns the calls that are to run now, in the model's order. It returns every call that runs already. It
// adds further calls in the model's order, until `limit` calls run. The parameter `started` reports whether a call
// runs already. Running never returns a call that waits for somebody outside (see [Call.Waits]), or that has [Call].Stopped or [Call].Judged.
func (r RunTools) Running(limit int, started func(Call) bool) []Call {
	free := limit
	runs := make([]bool, len(r.Calls))
	for i, c := range r.Calls {
		if runs[i] = !c.Waits() && c.Stopped == nil && !c.Judged && started(c); runs[i] {
			free--
		}
	}
	running := make([]Call, 0, min(limit, len(r.Calls)))
	for i, c := range r.Calls {
		if !runs[i] && !c.Waits() && c.Stopped == nil && !c.Judged && free > 0 {
			free--
			runs[i] = true
		}
		if runs[i] {
			running = append(running, c)
		}
	}
	return running
}

// Wants reports whether the step asks for the work with the given key, such as a model call or a tool call. A driver
// uses Wants to find work in flight whose result is no longer needed.
func Wants(step Step, key Key) bool { return step.wants(key) }

// Advance carries out the steps that need nothing from outside, one after the other. Such a step takes a message from
// the queue, ends the agent, or holds a turn whose request is too long: see [Hold]. Advance stops at the first step
// that needs something from outside, such as a model call or an event. Advance reports whether it has changed the
// state. The parameter `now` is the current time, in Unix milliseconds.
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

// noRoom returns the event for a request that is too long and that no summary can shorten. The event holds the turn:
// see [Hold].
func noRoom(now int64) Event {
	return Stopped{
		Class: string(llm.ContextTooLong), Time: now,
		Message: "the conversation is longer than the model's context window, and a summary of its beginning does not make it fit: " +
			"lower limits.tool_result_bytes, give the agent fewer tools, or use a model with a larger window",
	}
}

// Next returns the next step. It changes nothing but caches, so it is not safe for concurrent use. The first rule that fits decides:
//
//  0. there is an outcome                       → Finish
//     there is no definition yet                → Load
//  1. calls have no result                      → RunTools
//     a reload was asked for, no model call is
//     in flight, and no summary is to be made   → Load
//  2. the turn is held                          → Wait (chat, or interrupted), Finish failed (task, or closing)
//     guardrails judge the answer               → CheckText (Wait while a person is asked)
//     the overrides of the turn do not hold yet → ResolveOverrides
//  3. the context is too long, in a turn        → Compact
//  4. a steering message may enter now, and
//     no model call is in flight                → TakeMessage
//  5. the last message is not an answer         → CallModel
//  6. a message waits in the queue              → TakeMessage
//     otherwise                                 → Wait (chat, or no message yet, or sub-agents work in the background),
//     Finish (task, or closing)
//
// Before a message is taken, and before calls with the answer of a person, guardrails judge the text: [CheckText]. While a person is asked
// about a message, the agent waits.
//
// There is one exception. A run that began by a reset must search other runs for messages and decisions. Before this
// search, all rules but rule 0 give [FindMessages] instead. For rule 2, see [Hold]. An agent is closing if
// [State].Closing is set.
func (s *State) Next() Step {
	step := s.next()
	if !s.unsearched() || s.Outcome != nil || s.Definition == nil {
		return step
	}
	// The key contains no run ID. If a further reset copies the step into the history of a new run, the new run has to
	// compute the same key.
	return FindMessages{Key: s.key(KindMessages, s.Searches), Then: step}
}

// unsearched reports whether the run began by a reset and has not searched other runs yet, so that another run may have a
// decision on each call.
func (s *State) unsearched() bool { return s.Reset != s.Searched }

// next returns the next step of an agent that need not search other runs.
func (s *State) next() Step {
	switch {
	case s.Outcome != nil:
		return Finish{*s.Outcome}
	case s.Definition == nil:
		return Load{Key: s.definitionKey(s.Agent, s.Reloads), Agent: s.Agent}
	case len(s.Calls) > 0:
		return s.checkQuestions(RunTools{Calls: s.Pending()})
	case s.reloads():
		return Load{Key: s.definitionKey(s.Agent, s.Reloads+1), Agent: s.Agent}
	case s.Hold != nil:
		if (s.Mode == Chat || s.Hold.Class == Interrupted) && !s.Closing {
			return Wait{}
		}
		return Finish{Outcome{Status: Failed, Answer: s.Answer(), FinishReason: s.FinishReason(), Class: s.Hold.Class, Message: s.Hold.Message}}
	case s.Withheld != nil:
		return s.checkAnswer()
	case s.unresolved():
		return s.resolve()
	case s.TooLong && !s.answered():
		return s.compact()
	}
	var call CallModel
	if s.Count() > 0 && !s.answered() {
		call = CallModel{Key: s.modelKey(), Count: s.SentCount()}
	}
	if i := s.steers(); i >= 0 && (call.Key == "" || call.Key != s.InFlight) {
		return s.take(s.Queue[i])
	}
	if call.Key != "" {
		return call
	}
	if len(s.Queue) > 0 {
		return s.take(s.nextTurn())
	}
	if !s.Closing && (s.Mode == Chat || s.Count() == 0 && len(s.Refused) == 0 || len(s.inBackground()) > 0) {
		return Wait{}
	}
	if r := len(s.Refused); s.Count() == 0 && r > 0 && s.Mode == Task {
		return Finish{Outcome{Status: Failed, Class: MessageRefused, Message: s.Refused[r-1].Reply()}}
	}
	return Finish{Outcome{Status: Completed, Answer: s.Answer(), FinishReason: s.FinishReason(), Stopped: s.Turn.Stopped}}
}
