package protocol

// DefaultTaskQueue is the Temporal task queue of agents if a client or a worker names no other task queue.
const DefaultTaskQueue = "agents"
