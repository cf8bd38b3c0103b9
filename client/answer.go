package client

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/workflows"
)

// InvalidOutputError is the error of [Ask] and [Answer] if an agent's answer cannot be used. Either the answer does not fit the
// agent's JSON schema, even after the model was asked to correct it, or the answer cannot be decoded into the type T of the
// caller.
type InvalidOutputError struct {
	ID string
	// Problem says what is wrong with the answer.
	Problem string
}

// Error names the agent and the problem.
func (e *InvalidOutputError) Error() string { return fmt.Sprintf("agent %s: %s", e.ID, e.Problem) }

// Answer waits until an agent has ended, and returns its answer. If the answer does not fit the agent's JSON schema, the error is
// an [*InvalidOutputError]. It is also an error if the agent failed, was cancelled, was terminated or timed out. If ctx ends
// first, Answer returns the cause of that, and the agent continues.
func (c *Client) Answer(ctx context.Context, id string) (string, error) {
	var result workflows.Result
	err := c.temporal.GetWorkflow(ctx, id, "").Get(ctx, &result)
	if failed, ok := errors.AsType[*temporal.ApplicationError](err); ok && failed.Type() == agent.InvalidOutput {
		return "", &InvalidOutputError{ID: id, Problem: failed.Message()}
	}
	if err != nil && ctx.Err() != nil {
		return "", fmt.Errorf("wait for agent %q: %w", id, context.Cause(ctx))
	}
	return result.Answer, wrap("wait for", id, err)
}
