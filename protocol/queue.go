package protocol

// DefaultTaskQueue is the Temporal task queue that clients and workers use for agents if no other is set.
const DefaultTaskQueue = "agents"
