package reagent

import (
	temporal "go.temporal.io/sdk/client"

	"github.com/reagent-dev/reagent/client"
)

// DefaultTaskQueue is the task queue of agents if no other is set.
const DefaultTaskQueue = client.DefaultTaskQueue

// Most programs need only these types of package client. For the other types and for the errors, see package client.
type (
	// Client starts agents and talks to them.
	Client = client.Client
	// StartOptions say which agent to start, with which message and which settings.
	StartOptions = client.StartOptions
	// Message is one message to an agent.
	Message = client.Message
)

// NewClient returns a client for the agents on a task queue. An empty taskQueue means [DefaultTaskQueue]. The returned Client
// uses the Temporal client c and never closes it.
func NewClient(c temporal.Client, taskQueue string) *Client { return client.New(c, taskQueue) }
