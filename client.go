package reagent

import (
	temporal "go.temporal.io/sdk/client"

	"github.com/reagent-dev/reagent/client"
)

// DefaultTaskQueue is the name of the Temporal task queue that agents use if the program does not name another one.
const DefaultTaskQueue = client.DefaultTaskQueue

// These are the types of package client that most programs need. The other types and the errors are in package client.
type (
	// Client starts agents, sends messages to them, and reads their status and transcripts.
	Client = client.Client
	// StartOptions say which agent to start, with which message and which settings.
	StartOptions = client.StartOptions
	// Message is one message to an agent.
	Message = client.Message
)

// NewClient returns a client that starts agents on the given task queue. If the name of the task queue is empty, the client
// uses [DefaultTaskQueue]. The client also reaches agents on other task queues. It uses the Temporal client `c`, and never
// closes `c`.
func NewClient(c temporal.Client, taskQueue string) *Client { return client.New(c, taskQueue) }
