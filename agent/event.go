package agent

import "github.com/reagent-dev/reagent/llm"

// Event is something that has happened to an agent, such as a message from a user or a reply of the model.
// [State.Apply] applies an event to the state. A second delivery of the same event changes nothing but a counter in
// [Usage]. Times in events are Unix milliseconds of the workflow clock.
type Event interface {
	// apply applies the event to the state and reports whether the state has changed: see [State.Apply].
	apply(s *State) bool
}

type (
	// DefinitionLoaded says that the agent's definition was read. The event stores the definition in the state.
	DefinitionLoaded struct {
		Key        Key
		Definition Definition
	}

	// DefinitionFailed says that the definition cannot be read. An agent that has no definition yet ends. An agent
	// that has a definition keeps it.
	DefinitionFailed struct {
		Key     Key
		Class   string
		Message string
	}

	// MessageReceived puts a message into the queue. A turn that is held goes on: see [Hold].
	MessageReceived struct {
		Message QueuedMessage
		Time    int64
	}

	// MessageTaken moves a message from the queue into the transcript.
	MessageTaken struct {
		ID   string
		Time int64
	}

	// ModelAsked says that a model call is in flight. Until the reply comes, a steering message (see
	// [QueuedMessage].Steer) has to wait.
	ModelAsked struct{ Key Key }

	// ModelReplied adds the model's reply to the transcript, and the calls in the reply to [State].Calls. If the
	// request asked for a summary, the event stores the reply as the summary instead.
	ModelReplied struct {
		Key   Key
		Reply llm.Reply
		// Empty counts the empty replies that the same request got before this reply.
		Empty EmptyReplies
		// Repeats counts the attempts at this model call that failed or were lost before this reply.
		Repeats Repeats
		// Invalid says why the answer does not fit the output schema. It is empty if the answer fits, or if there is
		// no schema.
		Invalid string
		// Free are the calls of the reply that need no approval by the rules of their tools: see [Tool].ApprovalRule.
		Free []FreeCall
		// Recalled and New say whether earlier runs have the reply. If Recalled is true, the reply comes from the
		// history of an earlier run. If New is true, all earlier runs were searched, and none has the reply. Then none of
		// them can have the result of a later call either, so from here on the agent does not search them any more: see
		// [State.Recall]. If both are false, it is not known, for example because nothing was searched.
		Recalled, New bool
		Time          int64
	}

	// ModelFailed says that a model call failed. The event holds the turn: see [Hold]. If the request was too long,
	// the agent asks for a summary of the conversation instead.
	ModelFailed struct {
		Key     Key
		Class   string
		Message string
		// Empty counts the empty replies to the request.
		Empty EmptyReplies
		Time  int64
	}

	// ToolFinished gives one tool call its result, or says that the tool asks a person.
	ToolFinished struct {
		Key    Key
		Result Result
		// Elicitation is the question of the tool to a person; nil if the call has its result.
		Elicitation *Elicitation
		// Recalled reports whether the result comes from the history of an earlier run.
		Recalled bool
	}

	// CallBegan says that a call now waits for its sub-agent. Before, it may have had to wait until fewer than [CallsAtOnce] calls were
	// running. The time limit of the call begins now: see [Tool].BudgetMS.
	CallBegan struct {
		Key  Key
		Time int64
	}

	// ChildStarted says that a sub-agent's workflow exists.
	ChildStarted struct{ Key Key }

	// CallFound adds to the state what other runs of the agent knew about a call, such as its sub-agent, its result and who decided on
	// it: see [CallRecord]. The driver asks them about calls with [Call].Search, and about calls for sub-agents.
	CallFound struct {
		// Key is the key of the call.
		Key    Key
		Record CallRecord
		Time   int64
	}

	// ChildFinished gives a sub-agent's result to the calls that wait for it.
	ChildFinished struct {
		Key    Key
		Result Result
		// Spent is what the sub-agent and all agents below it have spent; nil if unknown.
		Spent *Spending
		// Reattached reports whether the sub-agent's workflow already existed, and this agent only waited for the
		// sub-agent.
		Reattached bool
	}

	// ChildGivenUp ends the wait for a sub-agent. The calls that wait for it are left unanswered: see
	// [ResultKind.StandsIn]. The sub-agent itself goes on.
	ChildGivenUp struct {
		Key Key
		// Why is the reason, as a text for the model.
		Why  string
		Time int64
	}

	// Decided brings a person's decision on a call. The decision may come before the call.
	Decided struct {
		Decision Decision
		Time     int64
	}

	// WaitEnded ends the waits for somebody outside that have reached their limits: see [CallWait].Until.
	WaitEnded struct{ Time int64 }

	// PermissionRevoked removes the permission that the decision on the call with the given key gave: see [Permission]. It has
	// this effect also after the agent has ended, because an agent that is resumed keeps its permissions.
	PermissionRevoked struct{ Key Key }

	// Stopped holds the turn: see [Hold]. Either a person has interrupted the turn, or a step cannot be carried out. The agent stops
	// waiting for the open calls, and their results say so: see [NotRun] and [OutcomeUnknown]. If the class is [Interrupted], the driver
	// cancels their sub-agents, and the results of these calls are [NoAnswer].
	Stopped struct {
		Key     Key
		Class   string
		Message string
		// Actor is the person who has interrupted the turn.
		Actor
		Time int64
	}

	// TimeReached ends a turn that has reached its time limit.
	TimeReached struct {
		// Turn is the number of the turn.
		Turn int
		Time int64
	}

	// TimeRestarted lets the time limits of the turn and of its waiting calls begin again. After a reset, the time
	// before the reset does not count.
	TimeRestarted struct{ Time int64 }

	// Resumed lets an agent that has ended go on in a new run. Open calls keep their keys.
	Resumed struct {
		// RunID is the ID of the run that had ended.
		RunID string
		// Reload reports whether the agent reads its definition again.
		Reload bool
		Time   int64
	}

	// ReloadAsked makes a running agent read its definition again. A second ReloadAsked with the same ID changes
	// nothing.
	ReloadAsked struct{ ID string }

	// Rewound says that this run of the agent began by a reset of an earlier run. The field Run contains the last
	// characters of the ID of this run.
	Rewound struct{ Run string }

	// MessagesFound brings what other runs of the agent received: messages, which enter the queue, decisions and revoked
	// permissions.
	MessagesFound struct {
		// Run contains the last characters of the ID of the run that made the search. It becomes [State].Searched.
		Run      string
		Messages []QueuedMessage
		// Decisions are the decisions that other runs received, oldest first. A found decision replaces one of the same kind on the same
		// call that this run has received and not yet applied. If this run has applied its own, the found one changes nothing.
		Decisions []Decision
		// Revoked are the keys of the permissions that people revoked in other runs: see [PermissionRevoked].
		Revoked []Key
		// Order lists the IDs of these messages and of the messages in the queue, in the order in which they were
		// sent. A message that is not in the list was sent after all messages in the list.
		Order []string
		// Places has the places of messages in the transcripts and queues of other runs, by message ID: see [Place]. It may also have
		// places of messages that this run does not know.
		Places map[string]Place
		Time   int64
	}

	// ResumeLost counts a resume that had no effect, because another resume had already started the agent again. The
	// field ID is the ID of the resume without effect.
	ResumeLost struct{ ID string }

	// Closed makes the agent finish after its running turn and after the messages in its queue.
	Closed struct{}

	// CancelRequested ends the agent at once. Its open calls stay open, and an agent that is resumed goes on with them.
	CancelRequested struct{ Time int64 }

	// PartialTextAsked says that somebody wants to see the partial text of calls until the time Until. If Until is more than one
	// hour after Time, the agent reports it for one hour only. Both times are in Unix milliseconds.
	PartialTextAsked struct{ Until, Time int64 }

	// AsideAnswered counts the tokens and the cost of a model call that has answered an [Aside].
	AsideAnswered struct {
		Usage     llm.Usage
		Candidate string
	}

	// NotificationsDue makes the notifications that are due, and adds them to [State].Notifications. The driver applies it when it has
	// started the work of a step, and at the end of the agent.
	NotificationsDue struct {
		// Outcome is how the agent ends; nil before the end. After a reset, the agent may end before the state has the outcome.
		Outcome *Outcome
		Time    int64
	}

	// NotificationEnded removes a notification that was delivered, or whose delivery was given up.
	NotificationEnded struct{ Key Key }

	// Ended stores the outcome when the next step is [Finish]. After this event, only these events change the state: [Resumed],
	// [Rewound], [ReloadAsked], [PermissionRevoked], [NotificationsDue] and [NotificationEnded].
	Ended struct{}
)

// Apply applies an event to the state and reports whether the state has changed. An event that was applied before, or
// that comes too late, has no effect, and Apply returns false. If such an event is a message, a decision, a reply or a
// result, Apply counts it in [Usage].DuplicateEvents. After the agent has ended, Apply counts nothing.
func (s *State) Apply(e Event) bool {
	switch e.(type) {
	case nil:
		return false
	case Resumed, Rewound, NotificationsDue, NotificationEnded:
	case PermissionRevoked, ReloadAsked:
		// An agent that has ended may still have an open run, which accepts these. An agent that is resumed keeps this state.
	default:
		if s.Outcome != nil {
			return false
		}
	}
	if e.apply(s) {
		s.recordWaits()
		return true
	}
	switch e.(type) {
	case MessageReceived, Decided, ModelReplied, ToolFinished, ChildFinished:
		s.Usage.DuplicateEvents++
	}
	return false
}

func (Closed) apply(s *State) bool {
	changed := !s.Closing
	s.Closing = true
	return changed
}

func (Ended) apply(s *State) bool {
	end, ok := s.Next().(Finish)
	if ok {
		s.Outcome = &end.Outcome
	}
	return ok
}
