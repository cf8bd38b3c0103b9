package protocol

// DefaultTaskQueue is the Temporal task queue of agents if no other is set, in clients and in workers.
const DefaultTaskQueue = "agents"
