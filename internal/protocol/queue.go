package protocol

// DefaultTaskQueue is the Temporal task queue of agents if a client or a worker names no other task queue.
const DefaultTaskQueue = "agents"

// ModelQueue returns the task queue for the calls of a model that has a limit on requests. `queue` is that of the agents.
func ModelQueue(queue, model string) string { return queue + ".model." + model }

// ServerQueue returns the task queue for the calls of a stateful MCP server. `queue` is that of the agents.
func ServerQueue(queue, server string) string { return queue + ".mcp." + server }

// DigestMark stands before the digest of the agents' definitions in the identity of a worker.
const DigestMark = " definitions "
