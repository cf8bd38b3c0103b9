package reagent

import (
	"context"

	temporal "go.temporal.io/sdk/client"

	"github.com/reagent-dev/reagent/client"
)

// DefaultTaskQueue is the task queue of agents if no other is set.
const DefaultTaskQueue = client.DefaultTaskQueue

// These types start agents and talk to them. Package client has more, such as the errors.
type (
	// Client starts agents and talks to them.
	Client = client.Client
	// StartOptions say which agent to start.
	StartOptions = client.StartOptions
	// Message is one message to an agent.
	Message = client.Message
)

// NewClient returns a client for the agents on a task queue. Empty means [DefaultTaskQueue]. The caller closes the Temporal client.
func NewClient(c temporal.Client, taskQueue string) *Client { return client.New(c, taskQueue) }

// Ask starts an agent in task mode, waits for its answer, and returns it decoded from JSON: see [client.Ask].
func Ask[T any](ctx context.Context, c *Client, o StartOptions) (T, error) {
	return client.Ask[T](ctx, c, o)
}
