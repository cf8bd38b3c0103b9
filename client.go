package reagent

import (
	"context"

	temporal "go.temporal.io/sdk/client"

	"github.com/reagent-dev/reagent/client"
)

// DefaultTaskQueue is the task queue of agents where none is named.
const DefaultTaskQueue = client.DefaultTaskQueue

// The types with which programs start agents and talk to them. Package client has the rest, such as the errors.
type (
	// Client starts agents and talks to them.
	Client = client.Client
	// StartOptions say which agent to start.
	StartOptions = client.StartOptions
	// Message is one message to an agent.
	Message = client.Message
)

// NewClient returns a client for the agents on a task queue; empty means [DefaultTaskQueue]. The Temporal client stays the caller's to
// close.
func NewClient(c temporal.Client, taskQueue string) *Client { return client.New(c, taskQueue) }

// Ask starts an agent in task mode, waits for its answer, and returns it decoded from JSON: the model is given the JSON schema of T. If an
// agent has the ID already, nothing is started, and its answer is returned. An answer that does not fit is a
// [client.InvalidOutputError]. The wait ends with ctx; the agent goes on.
func Ask[T any](ctx context.Context, c *Client, o StartOptions) (T, error) {
	return client.Run[T](ctx, c, o)
}
