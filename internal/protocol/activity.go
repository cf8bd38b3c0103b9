package protocol

// These are the activity types that an agent's workflow uses. They never change, because the histories of agents contain
// them.
const (
	// LoadAgent reads the definition of the agent.
	LoadAgent = "LoadAgent"
	// ResolveOverrides checks the overrides of a message, and returns what they make of the agent's definition.
	ResolveOverrides = "ResolveOverrides"
	// CallModel makes one model call.
	CallModel = "CallModel"
	// CallTool makes one tool call.
	CallTool = "CallTool"
	// CheckText asks a guardrail for its verdict on a text.
	CheckText = "CheckText"
	// AwaitAgent waits for the end of a sub-agent that was started earlier.
	AwaitAgent = "AwaitAgent"
	// ReadAgent reads the state of an agent from the history of an earlier run.
	ReadAgent = "ReadAgent"
	// ReadProgress reads how long a sub-agent has been idle.
	ReadProgress = "ReadProgress"
	// FindMessages searches other runs of the agent for messages and decisions that they received.
	FindMessages = "FindMessages"
	// FindCall looks for what earlier runs of the agent have recorded about a call: its result, its decision and its sub-agent.
	FindCall = "FindCall"
	// Notify delivers one notification of the agent to a hook: see [agent.Notification].
	Notify = "Notify"
)

// These are the types of the errors with which activities fail. The other types are the values of [llm.Class]. The types
// never change, because histories contain them and clients compare some of them. If the agent cannot handle an error, the
// turn of the agent is held until a person or a program acts: see [agent.Hold]. The field [agent.Hold.Class] is then the type
// of the error.
const (
	// UnknownAgent means that the worker's configuration has no agent with the requested name. The activity is retried for
	// some minutes, because another worker may have the agent.
	UnknownAgent = "UnknownAgent"
	// BadAgent means that the worker cannot make the agent's definition, for example because the configuration contradicts
	// itself.
	BadAgent = "BadAgent"
	// BadOverrides means that the agent's definition does not allow the overrides of a message.
	BadOverrides = "BadOverrides"
	// Missing means that the worker does not have the agent's model or tool. Another worker may have it.
	Missing = "Missing"
	// Unavailable means that the activity could not reach something that it needs, such as the transcript, the list of runs,
	// a tool, or a worker that may have the result. The attempt that failed has not called the model or the tool. There is one
	// exception: it may have called a tool that may safely run again.
	Unavailable = "Unavailable"
	// Mismatch means that the workflow no longer has the request that the activity has to send to the model. It also means
	// that a history cannot be replayed.
	Mismatch = "Mismatch"
	// StillRunning means that the sub-agent for which [AwaitAgent] waits has not ended, or has just ended and may be resumed.
	StillRunning = "StillRunning"
	// ForeignAgent means that the workflow with the sub-agent's ID is not the sub-agent.
	ForeignAgent = "ForeignAgent"
	// Gone means that the history that should contain the agent's state no longer exists, or contains no state.
	Gone = "Gone"
	// StateSize means that the agent's state is too large: see [ErrStateSize].
	StateSize = "StateSize"
	// CallReturned is the type of the error with which a worker fails an attempt of a lost worker. Temporal then makes another attempt.
	CallReturned = "CallReturned"
	// CallMissed is the type of the same error for an attempt that Temporal gave to a worker that was lost already. The worker has not begun it.
	CallMissed = "CallMissed"
	// WorkerLost means that too many attempts at the activity were lost, because their workers stopped reporting. The
	// activity is not attempted again.
	WorkerLost = "WorkerLost"
	// AttemptEnded means that the worker is stopping, or that Temporal has given up the attempt. The activity may run again.
	AttemptEnded = "AttemptEnded"
	// OutOfTime means that the time limit of the turn was over when the attempt began, so this attempt did nothing. An earlier
	// attempt may have made the call. If the limit is not over for the agent, either a reset has copied the activity, or the
	// clock of the worker is ahead of Temporal's clock.
	OutOfTime = "OutOfTime"
	// NotDelivered means that a hook did not accept a notification. The agent goes on in any case.
	NotDelivered = "NotDelivered"
)
