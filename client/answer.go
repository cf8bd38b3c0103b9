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

// InvalidOutputError says that an agent's answer does not fit its JSON schema, even after the model was asked to correct it. It also says
// that an answer could not be decoded into the type that the caller named.
type InvalidOutputError struct {
	ID string
	// Problem says what does not fit.
	Problem string
}

// Error names the agent and the problem.
func (e *InvalidOutputError) Error() string { return fmt.Sprintf("agent %s: %s", e.ID, e.Problem) }

// Ask starts an agent in task mode, waits for its answer, and returns it decoded from JSON. The model is given the JSON schema of T. If an
// agent with this ID exists, Ask starts nothing and returns the answer of that agent. If the answer does not fit the schema, the error is an
// [*InvalidOutputError]. If the context ends first, the agent goes on.
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

// Answer waits until an agent has ended, and returns its answer decoded from JSON. If the answer does not fit the agent's JSON schema, or
// cannot be decoded into a T, the error is an [*InvalidOutputError].
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
