package reagent

import (
	temporal "go.temporal.io/sdk/client"

	"github.com/reagent-dev/reagent/client"
)

// DefaultTaskQueue is the task queue of agents if the program names no other task queue.
const DefaultTaskQueue = client.DefaultTaskQueue

// Most programs need only these types of package client. For the other types and for the errors, see package client.
type (
	// Client starts agents, sends messages to them, and reads their status and transcripts.
	Client = client.Client
	// StartOptions say which agent to start, with which message and which settings.
	StartOptions = client.StartOptions
	// Message is one message to an agent.
	Message = client.Message
)

// NewClient returns a client that starts agents on the given task queue; empty means [DefaultTaskQueue]. The client reaches
// the agents of all other task queues, too. It uses the Temporal client c and never closes it.
func NewClient(c temporal.Client, taskQueue string) *Client { return client.New(c, taskQueue) }
