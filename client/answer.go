package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/workflows"
)

// InvalidOutputError says that an agent's answer does not fit the schema that was asked for, also after the
// model was asked to put it right.
type InvalidOutputError struct {
	ID string
	// Problem tells what does not fit.
	Problem string
}

// Error names the agent and the problem.
func (e *InvalidOutputError) Error() string { return fmt.Sprintf("agent %s: %s", e.ID, e.Problem) }

// Run starts an agent as a task, with the JSON schema of T for its answer, waits for the answer and
// returns it decoded. Where an agent of the ID exists nothing is started, and its answer is returned. An answer that does not
// fit is an [*InvalidOutputError]. The wait ends with the context; the agent goes on.
func Run[T any](ctx context.Context, c *Client, o StartOptions) (T, error) {
	var answer T
	schema, err := jsonschema.For[T](nil)
	if err != nil {
		return answer, fmt.Errorf("the schema of %T: %w", answer, err)
	}
	if o.OutputSchema, err = json.Marshal(schema); err != nil {
		return answer, fmt.Errorf("the schema of %T: %w", answer, err)
	}
	o.Mode = agent.Task
	started, err := c.Start(ctx, o)
	if err != nil {
		return answer, err
	}
	return Answer[T](ctx, c, started.ID)
}

// Answer waits for the end of an agent and returns its answer, decoded from JSON. An answer that is no
// JSON of that type, or did not fit the schema that was asked for, is an [*InvalidOutputError].
func Answer[T any](ctx context.Context, c *Client, id string) (T, error) {
	var answer T
	var result workflows.Result
	err := c.temporal.GetWorkflow(ctx, id, "").Get(ctx, &result)
	if failed, ok := errors.AsType[*temporal.ApplicationError](err); ok && failed.Type() == agent.InvalidOutput {
		return answer, &InvalidOutputError{ID: id, Problem: failed.Message()}
	}
	if err != nil {
		return answer, wrap("wait for", id, err)
	}
	if err := json.Unmarshal([]byte(result.Answer), &answer); err != nil {
		return answer, &InvalidOutputError{ID: id, Problem: fmt.Sprintf("the answer is not JSON of the type %T: %v", answer, err)}
	}
	return answer, nil
}
