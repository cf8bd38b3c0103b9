package agent

import "github.com/reagent-dev/reagent/llm"

// Event is something that has happened to an agent, such as a message from a user or a reply of the model.
// [State.Apply] applies it. An event may be delivered more than once: from the second time on, it changes nothing but a
// count in [Usage]. Times in events are Unix milliseconds of the workflow clock.
type Event interface{ event() }

type (
	// DefinitionLoaded says that the definition was read. It stores the definition in the state.
	DefinitionLoaded struct {
		Key        Key
		Definition Definition
		// MayHaveRun says how an open call is answered if the definition lacks its tool. If true, the result says that
		// the call may have run. If false, the result says that the call could not be run. It is false only in the
		// replay of a history of an earlier version, which gave this second answer.
		MayHaveRun bool
	}

	// DefinitionFailed says that the definition cannot be read. An agent without a definition ends. An agent with a
	// definition keeps it.
	DefinitionFailed struct {
		Key     Key
		Class   string
		Message string
	}

	// MessageReceived puts a message into the inbox. If the turn is held, it goes on: see [Held].
	MessageReceived struct {
		Message InboxMessage
		Time    int64
	}

	// MessageTaken moves a message from the inbox into the transcript.
	MessageTaken struct {
		ID   string
		Time int64
	}

	// ModelAsked says that a model call is in flight. From now on, a steering message waits for the reply.
	ModelAsked struct{ Key Key }

	// ModelReplied appends the model's reply to the transcript and opens its calls. If the key is that of a request for
	// a summary, the reply is the summary.
	ModelReplied struct {
		Key   Key
		Reply llm.Reply
		// Empty counts the empty replies to the same request before this reply.
		Empty EmptyReplies
		// Repeats counts the failed and lost attempts before this reply.
		Repeats Repeats
		// Invalid says why the answer does not fit the output schema; empty if it fits or there is no schema.
		Invalid string
		// Recalled reports whether the reply comes from the history of an earlier run. New reports whether all earlier
		// runs were searched and none of them has the reply. If New is true, no earlier run has a later result either,
		// so the agent stops the search of earlier runs.
		Recalled, New bool
		Time          int64
	}

	// ModelFailed says that a model call failed, and holds the turn: see [Held]. If the request was too long, the agent
	// asks for a summary of the conversation instead.
	ModelFailed struct {
		Key     Key
		Class   string
		Message string
		Empty   EmptyReplies
		Time    int64
	}

	// ToolFinished gives one tool call its result. Recalled reports whether the result comes from the history of an
	// earlier run.
	ToolFinished struct {
		Key      Key
		Result   Result
		Recalled bool
	}

	// CallBegan says that a call for a sub-agent is no longer queued: it now waits for its sub-agent. The call's time
	// budget ([Tool].BudgetMS) begins now.
	CallBegan struct {
		Key  Key
		Time int64
	}

	// ChildStarted says that a sub-agent's workflow exists.
	ChildStarted struct{ Key Key }

	// CallRecalled adds to the state what an earlier run of the agent knew about a call for a sub-agent.
	CallRecalled struct {
		Key      Key // the key of the call
		Recalled Recalled
		Time     int64
	}

	// ChildFinished gives a sub-agent's result to the calls that wait for it.
	ChildFinished struct {
		Key    Key
		Result Result
		// Spent counts the tokens and the cost of the sub-agent and its own sub-agents; nil if unknown.
		Spent *Spending
		// Reattached reports whether this agent only waited for the sub-agent, because the sub-agent's workflow already
		// existed.
		Reattached bool
	}

	// ChildInterrupted ends the wait for a sub-agent: the calls that wait for it are answered as interrupted. Why is
	// the reason, as a text for the model. The sub-agent goes on.
	ChildInterrupted struct {
		Key  Key
		Why  string
		Time int64
	}

	// Decided is a person's decision on a call. It may come before the call does.
	Decided struct {
		Decision Decision
		Time     int64
	}

	// Stopped holds the turn (see [Held]) and answers its open calls as interrupted. The reason is an interrupt by a
	// person, or a step that cannot be carried out.
	Stopped struct {
		Key     Key
		Class   string
		Message string
		Time    int64
	}

	// TimeReached ends a turn that has reached its time limit. Turn is the number of this turn.
	TimeReached struct {
		Turn int
		Time int64
	}

	// Resumed lets an agent that has ended go on in a new run. RunID is the ID of the run that had ended. If Reload is
	// true, the definition is read again. Open calls keep their keys.
	Resumed struct {
		RunID  string
		Reload bool
		Time   int64
	}

	// ReloadAsked makes a running agent read its definition again. A second ReloadAsked with the same ID changes
	// nothing.
	ReloadAsked struct{ ID string }

	// Rewound says that this run of the agent began by a reset of an earlier run. Run is the end of the ID of this run.
	Rewound struct{ Run string }

	// MessagesFound brings messages that other runs of the agent took, and puts them into the inbox. Run is the end of
	// the ID of the run for which the search was made; it becomes [State].Searched. Order lists the IDs of these
	// messages and of the messages in the inbox, in the order in which they were sent. A message that is not in Order
	// was sent after all messages in it.
	MessagesFound struct {
		Run      string
		Messages []InboxMessage
		Order    []string
		Time     int64
	}

	// ResumeLost counts a resume that had no effect, because another resume had already started the agent again. ID is
	// the ID of the resume that had no effect.
	ResumeLost struct{ ID string }

	// Closed makes the agent finish after its running turn and the messages in its inbox.
	Closed struct{}

	// CancelRequested ends the agent at once. Its open calls are answered as interrupted.
	CancelRequested struct{ Time int64 }

	// Ended stores the outcome when the agent has come to its end, that is, when the next step is [Finish]. After it,
	// only [Resumed] changes the state; the end of a sub-agent, for example, does not.
	Ended struct{}
)

func (DefinitionLoaded) event() {}
func (DefinitionFailed) event() {}
func (MessageReceived) event()  {}
func (MessageTaken) event()     {}
func (ModelAsked) event()       {}
func (ModelReplied) event()     {}
func (ModelFailed) event()      {}
func (ToolFinished) event()     {}
func (CallBegan) event()        {}
func (ChildStarted) event()     {}
func (CallRecalled) event()     {}
func (ChildFinished) event()    {}
func (ChildInterrupted) event() {}
func (Decided) event()          {}
func (Stopped) event()          {}
func (TimeReached) event()      {}
func (Resumed) event()          {}
func (ReloadAsked) event()      {}
func (Rewound) event()          {}
func (MessagesFound) event()    {}
func (ResumeLost) event()       {}
func (Closed) event()           {}
func (CancelRequested) event()  {}
func (Ended) event()            {}

// Apply applies an event to the state and reports whether the event has changed the state. An event that was applied
// before, or that comes too late, changes nothing except one count, and Apply returns false. The count is
// [Usage].DuplicateEvents: until the agent has ended, it counts such messages, decisions, replies and results.
func (s *State) Apply(e Event) bool {
	if s.apply(e) {
		return true
	}
	if s.Outcome != nil {
		return false
	}
	switch e.(type) {
	case MessageReceived, Decided, ModelReplied, ToolFinished, ChildFinished:
		s.Usage.DuplicateEvents++
	}
	return false
}

func (s *State) apply(e Event) bool {
	if _, resumes := e.(Resumed); s.Outcome != nil && !resumes {
		return false
	}
	switch e := e.(type) {
	case DefinitionLoaded:
		return s.definitionLoaded(e)
	case DefinitionFailed:
		return s.definitionFailed(e)
	case MessageReceived:
		return s.messageReceived(e)
	case MessageTaken:
		return s.messageTaken(e)
	case ModelAsked:
		return s.modelAsked(e)
	case ModelReplied:
		return s.modelReplied(e)
	case ModelFailed:
		return s.modelFailed(e)
	case ToolFinished:
		return s.toolFinished(e)
	case CallBegan:
		return s.callBegan(e)
	case ChildStarted:
		return s.childStarted(e)
	case CallRecalled:
		return s.callRecalled(e)
	case ChildFinished:
		return s.childFinished(e)
	case ChildInterrupted:
		return s.childInterrupted(e)
	case Decided:
		return s.decided(e)
	case Stopped:
		return s.stopped(e)
	case TimeReached:
		return s.timeReached(e)
	case Resumed:
		return s.resumed(e)
	case ResumeLost:
		return s.resumeLost(e)
	case ReloadAsked:
		return s.reloadAsked(e)
	case Rewound:
		return s.rewound(e)
	case MessagesFound:
		return s.messagesFound(e)
	case Closed:
		changed := !s.Closing
		s.Closing = true
		return changed
	case CancelRequested:
		return s.cancelRequested(e)
	case Ended:
		end, ok := s.Next().(Finish)
		if ok {
			s.Outcome = &end.Outcome
		}
		return ok
	}
	return false
}
