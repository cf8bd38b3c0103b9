package client

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
)

// InvalidOutputError is the error of [Client.Answer] if an agent's answer does not fit the JSON schema for its answers, and the
// model has not corrected it. `reagent.Execute` also returns this error if it cannot decode the answer into the Go type that
// its caller wants.
type InvalidOutputError struct {
	// ID is the agent's ID.
	ID string
	// Problem says what is wrong with the answer.
	Problem string
}

// Error returns a text that names the agent and the problem.
func (e *InvalidOutputError) Error() string { return fmt.Sprintf("agent %s: %s", e.ID, e.Problem) }

// RefusedError is the error of [Client.Answer] if a guardrail, or a person whom it asked, has refused the agent's last message or the answer to
// it. So there is no answer.
type RefusedError struct {
	// ID is the agent's ID.
	ID string
	// Refusal has the guardrail, the reason and the person, and says what was refused.
	Refusal agent.RefusedText
}

// Error returns a text that names the agent, the guardrail and the reason.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("agent %s has not answered: %s", e.ID, e.Refusal.Reply())
}

// Answer waits until an agent has ended, and returns the agent's answer. While a call waits for a person, Answer waits, too;
// [Client.Pending] returns such calls.
//
// Answer returns an error if the agent failed, was cancelled, was terminated or timed out. If the answer does not fit the JSON
// schema for the agent's answers, the error is an [*InvalidOutputError]. If the last message, or the answer to it, was refused, the error is a
// [*RefusedError], unless a worker of an earlier version has ended the agent. If no worker has the definition of the agent, the error wraps
// [ErrUnknownAgent]. If ctx ends before the agent has ended, the error wraps context.Cause(ctx), and the agent keeps running. If there is no
// such agent, the error wraps [ErrNotFound].
func (c *Client) Answer(ctx context.Context, id string) (string, error) {
	var result protocol.Result
	err := c.temporal.GetWorkflow(ctx, id, "").Get(ctx, &result)
	if failed, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		switch failed.Type() {
		case agent.InvalidOutput:
			return "", &InvalidOutputError{ID: id, Problem: failureText(failed.Message())}
		case agent.MessageRefused:
			var spent agent.Spending
			var refusal agent.RefusedText
			if failed.Details(&spent, &refusal) == nil && refusal.Kind != "" {
				return "", &RefusedError{ID: id, Refusal: refusal}
			}
		case UnknownAgent:
			return "", &agentError{fmt.Sprintf("agent %q failed: %s", id, failureText(failed.Message())), []error{ErrUnknownAgent, err}}
		}
	}
	if err != nil && ctx.Err() != nil {
		return "", fmt.Errorf("wait for agent %q: %w", id, context.Cause(ctx))
	}
	if err == nil && result.Refusal != nil {
		return "", &RefusedError{ID: id, Refusal: *result.Refusal}
	}
	return result.Answer, wrap("wait for", id, err)
}
