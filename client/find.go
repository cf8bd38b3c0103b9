package client

import "context"

// Find returns what Temporal's description says of an agent. Its Status is [Running] if the agent has not ended. It needs one request and no
// worker. The error wraps [ErrNotFound] if there is no such agent.
func (c *Client) Find(ctx context.Context, id string) (Entry, error) {
	found, err := c.describe(ctx, id)
	if err != nil {
		return Entry{}, err
	}
	return Entry{
		ID: id, Agent: found.agent, Status: found.status, Started: found.started, RunID: found.runID, TaskQueue: found.queue, Task: found.task,
		Metadata: found.metadata,
	}, nil
}
