package protocol

// The activity types. They stand in every history, so they are fixed.
const (
	LoadAgent  = "LoadAgent"
	CallModel  = "CallModel"
	CallTool   = "CallTool"
	AwaitAgent = "AwaitAgent"
	ReadAgent  = "ReadAgent"
	LookAgent  = "LookAgent"
	// FindMessages looks for messages in other runs of the agent.
	FindMessages = "FindMessages"
	RecallCall   = "RecallCall"
)

// The failure types of activities, beside those of [llm.Class]. They stand in
// histories, and the driver branches on them.
const (
	// UnknownAgent: this worker's configuration has no such agent; for some minutes another worker may have it.
	UnknownAgent = "UnknownAgent"
	// BadAgent: the agent's configuration contradicts itself.
	BadAgent = "BadAgent"
	// Missing: the agent's model or tool is not on this worker; another may have it.
	Missing = "Missing"
	// Unavailable: the transcript or a tool could not be reached; nothing was done.
	Unavailable = "Unavailable"
	// Mismatch: what the workflow holds is not what it asked to send.
	Mismatch = "Mismatch"
	// StillRunning: the agent waited for has not ended.
	StillRunning = "StillRunning"
	// ForeignAgent: the workflow under the sub-agent's ID is not the sub-agent.
	ForeignAgent = "ForeignAgent"
	// Gone: the history that holds the agent's state is no more.
	Gone = "Gone"
	// StateSize: the agent's state is larger than any that an agent comes to.
	StateSize = "StateSize"
	// WorkerLost: the worker was lost again and again while it worked on this.
	WorkerLost = "WorkerLost"
	// Interrupted: the worker stops; the activity may be run again.
	Interrupted = "Interrupted"
)

// MemoKey is the memo field of a sub-agent that holds its whole key.
const MemoKey = "reagent_key"
