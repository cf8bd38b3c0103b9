package protocol

// The activity types. Every history contains them, so they never change.
const (
	LoadAgent  = "LoadAgent"
	CallModel  = "CallModel"
	CallTool   = "CallTool"
	AwaitAgent = "AwaitAgent"
	ReadAgent  = "ReadAgent"
	LookAgent  = "LookAgent"
	// FindMessages searches other runs of the agent for messages.
	FindMessages = "FindMessages"
	RecallCall   = "RecallCall"
)

// The failure types of activities, besides those of [llm.Class]. Histories contain them, so they never change. If a
// failure holds a turn, its type becomes the Class of [agent.Held]. The client branches on some of them.
const (
	// UnknownAgent: the worker's configuration has no such agent. The activity is retried for some minutes, because
	// another worker may have the agent.
	UnknownAgent = "UnknownAgent"
	// BadAgent: the agent's configuration contradicts itself.
	BadAgent = "BadAgent"
	// Missing: the worker does not have the agent's model or tool. Another worker may have it.
	Missing = "Missing"
	// Unavailable: something could not be reached, such as the transcript, the list of runs, a tool, or the worker that
	// may have the result. This attempt has not run the effect.
	Unavailable = "Unavailable"
	// Mismatch: the request that the workflow holds does not have the key that the workflow asked for, or a history
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

// MemoKey is the memo field that holds the whole key of a sub-agent.
const MemoKey = "reagent_key"
