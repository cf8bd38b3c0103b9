package client

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/typed"
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

// Ask starts an agent in task mode, waits for its answer, and returns the answer decoded from JSON. The model is given the JSON
// schema of T: Ask replaces o.OutputSchema and o.Mode. If an agent with the ID o.ID exists, Ask starts nothing and returns the
// answer of that agent. If the answer does not fit the schema, the error is an [*InvalidOutputError]. If ctx ends first, Ask
// returns an error, and the agent continues.
func Ask[T any](ctx context.Context, c *Client, o StartOptions) (T, error) {
	var none T
	schema, err := typed.Schema[T]()
	if err != nil {
		return none, err
	}
	o.OutputSchema, o.Mode = schema, agent.Task
	started, err := c.Start(ctx, o)
	if err != nil {
		return none, err
	}
	return Answer[T](ctx, c, started.ID)
}

// Answer waits until an agent has ended, and returns its answer decoded from JSON. If the answer does not fit the agent's JSON
// schema, or cannot be decoded into a T, the error is an [*InvalidOutputError]. It is also an error if the agent failed, was
// cancelled, was terminated or timed out.
func Answer[T any](ctx context.Context, c *Client, id string) (T, error) {
	var none T
	var result workflows.Result
	err := c.temporal.GetWorkflow(ctx, id, "").Get(ctx, &result)
	if failed, ok := errors.AsType[*temporal.ApplicationError](err); ok && failed.Type() == agent.InvalidOutput {
		return none, &InvalidOutputError{ID: id, Problem: failed.Message()}
	}
	if err != nil {
		return none, wrap("wait for", id, err)
	}
	answer, err := typed.Decode[T](result.Answer)
	if err != nil {
		return answer, &InvalidOutputError{ID: id, Problem: err.Error()}
	}
	return answer, nil
}
