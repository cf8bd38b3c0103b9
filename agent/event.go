package agent

import "github.com/reagent-dev/reagent/llm"

// Event is something that has happened to an agent. Every event may arrive more than
// once: the second time it changes nothing. Times are Unix milliseconds of the
// workflow clock.
type Event interface{ event() }

type (
	// DefinitionLoaded pins the definition.
	DefinitionLoaded struct {
		Key        Key
		Definition Definition
		// MayHaveRun says that an open call whose tool the definition lacks is answered as one whose outcome is unknown.
		// It is false only in a replay of a history of an earlier version, which said that the call could not be run.
		MayHaveRun bool
	}

	// DefinitionFailed ends the agent before it began. An agent that has a definition keeps it.
	DefinitionFailed struct {
		Key     Key
		Class   string
		Message string
	}

	// MessageReceived puts a message into the inbox and lets a held agent go on.
	MessageReceived struct {
		Message InboxMessage
		Time    int64
	}

	// MessageTaken moves a message from the inbox into the transcript.
	MessageTaken struct {
		ID   string
		Time int64
	}

	// ModelAsked says that the model is being asked: a message that steers has to wait for its reply.
	ModelAsked struct{ Key Key }

	// ModelReplied appends the model's message and opens its calls; or takes the summary that
	// was asked for.
	ModelReplied struct {
		Key   Key
		Reply llm.Reply
		// Empty are the replies that came before this one.
		Empty EmptyReplies
		// Repeats are the attempts before the one that brought this reply.
		Repeats Repeats
		// Invalid tells how the answer does not fit the schema that was asked for; empty where it does.
		Invalid string
		// Recalled says that the reply was given in an earlier run, New that all earlier runs were searched and none
		// has it: so none has anything that comes after it either.
		Recalled, New bool
		Time          int64
	}

	// ModelFailed holds the turn, or marks the context as too long.
	ModelFailed struct {
		Key     Key
		Class   string
		Message string
		Empty   EmptyReplies
		Time    int64
	}

	// ToolFinished gives one call its result.
	ToolFinished struct {
		Key      Key
		Result   Result
		Recalled bool
	}

	// CallBegan says that a call for a sub-agent is not queued any more: its budget counts from now on.
	CallBegan struct {
		Key  Key
		Time int64
	}

	// ChildStarted says that a sub-agent's workflow exists.
	ChildStarted struct{ Key Key }

	// CallRecalled tells what an earlier run of the agent knew of a call for a sub-agent.
	CallRecalled struct {
		Key      Key // of the call
		Recalled Recalled
		Time     int64
	}

	// ChildFinished gives a sub-agent's result to the calls that wait for it.
	ChildFinished struct {
		Key    Key
		Result Result
		// Spent counts the tokens and the cost of the sub-agent and its own sub-agents; nil if unknown.
		Spent *Spending
		// Reattached says that the sub-agent was found and not started.
		Reattached bool
	}

	// ChildInterrupted answers the calls that wait for a sub-agent, which goes on,
	// for the reason Why.
	ChildInterrupted struct {
		Key  Key
		Why  string
		Time int64
	}

	// Decided is a person's word on a call that waits for approval.
	Decided struct {
		Decision Decision
		Time     int64
	}

	// Stopped holds the turn: an interrupt, or a step that cannot be carried out.
	Stopped struct {
		Key     Key
		Class   string
		Message string
		Time    int64
	}

	// TimeReached ends the turn of that number, whose time is up.
	TimeReached struct {
		Turn int
		Time int64
	}

	// Resumed lets an agent whose run of that ID has ended go on in another one. With Reload its
	// definition is read anew; calls that are open keep their keys.
	Resumed struct {
		RunID  string
		Reload bool
		Time   int64
	}

	// ReloadAsked lets the agent read its definition anew while it runs. An ID that came before changes nothing.
	ReloadAsked struct{ ID string }

	// Rewound says that the run with this name began by a reset of an earlier one.
	Rewound struct{ Run string }

	// MessagesFound brings messages that other runs of the agent took. Run is the run that searched for them. Order lists the IDs of
	// these messages and of those in the inbox, in the order in which they were sent. A message that is not in Order was sent after
	// all of them.
	MessagesFound struct {
		Run      string
		Messages []InboxMessage
		Order    []string
		Time     int64
	}

	// ResumeLost tells of a resume, named by its ID, that found the agent going on by another one.
	ResumeLost struct{ ID string }

	// Closed lets the agent finish when its turn and its inbox are done.
	Closed struct{}

	// CancelRequested ends the agent now.
	CancelRequested struct{ Time int64 }

	// Ended is the end to which the agent has come by itself. What happens afterwards, such as the end of
	// a sub-agent, does not wake it.
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

// Apply changes the state by what has happened and reports whether it did. An
// event that does not fit, because it came before or comes too late, changes nothing but a count.
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
