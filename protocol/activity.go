package protocol

// These are the types of the activities that an agent's workflow runs. They never change, because the histories of
// agents contain them.
const (
	// LoadAgent reads the definition of the agent.
	LoadAgent = "LoadAgent"
	// CallModel makes one model call.
	CallModel = "CallModel"
	// CallTool makes one tool call.
	CallTool = "CallTool"
	// AwaitAgent waits for the end of a sub-agent that was started earlier.
	AwaitAgent = "AwaitAgent"
	// ReadAgent reads the state of an agent from the history of an earlier run.
	ReadAgent = "ReadAgent"
	// LookAgent reads for how long nothing has happened in a sub-agent.
	LookAgent = "LookAgent"
	// FindMessages searches other runs of the agent for messages.
	FindMessages = "FindMessages"
	// RecallCall searches earlier runs of the agent for the result of a call for a sub-agent.
	RecallCall = "RecallCall"
)

// These are the types of the errors with which activities fail, in addition to the values of [llm.Class]. They never
// change, because histories contain them and clients compare some of them. After an error that the agent cannot
// handle, its turn is held: see [agent.Held]. The field Class of Held is then the type of the error.
const (
	// UnknownAgent: the worker's configuration has no such agent. The activity is retried for some minutes, because
	// another worker may have the agent.
	UnknownAgent = "UnknownAgent"
	// BadAgent: the worker cannot make the agent's definition, for example because the configuration contradicts
	// itself.
	BadAgent = "BadAgent"
	// Missing: the worker does not have the agent's model or tool. Another worker may have it.
	Missing = "Missing"
	// Unavailable: something could not be reached, such as the transcript, the list of runs, a tool, or the worker
	// that may have the result. The model call or the tool call has not run in this attempt. There is one exception:
	// a tool that may safely run again may have run.
	Unavailable = "Unavailable"
	// Mismatch: the workflow no longer has the request that the activity has to send to the model, or a history
	// cannot be replayed.
	Mismatch = "Mismatch"
	// StillRunning: the awaited agent has not ended, or has just ended and may be resumed.
	StillRunning = "StillRunning"
	// ForeignAgent: the workflow with the sub-agent's ID is not the sub-agent.
	ForeignAgent = "ForeignAgent"
	// Gone: the history that should contain the agent's state no longer exists, or contains no state.
	Gone = "Gone"
	// StateSize: the agent's state is too large: see [ErrStateSize].
	StateSize = "StateSize"
	// WorkerLost: too many attempts at the activity were lost because their worker stopped reporting. The activity is
	// not attempted again.
	WorkerLost = "WorkerLost"
	// Interrupted: the worker is stopping, or Temporal has given up the attempt. The activity may run again.
	Interrupted = "Interrupted"
)

// MemoKey is the name of the memo field that contains the key of a sub-agent: see [agent.Key]. By this field, a
// parent recognises its sub-agent. The ID of the sub-agent's workflow contains only a part of the key.
const MemoKey = "reagent_key"
