package reagent

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/exact"
)

// InvalidOutputError is the error of [Execute] for an answer that does not fit the JSON schema of the type T, or cannot be decoded
// into T.
type InvalidOutputError = client.InvalidOutputError

// RefusedError is the error of [Execute] if a guardrail, or a person whom it asked, has refused the task or the answer.
type RefusedError = client.RefusedError

// Execute gives a task to a new agent, waits for the answer, and returns the answer as a value of type T. The model gets the JSON
// schema of T, and answers in JSON. Execute overwrites two fields of the options `o`: OutputSchema and Mode.
//
// If an agent with the ID `o.ID` exists already, Execute starts no agent and returns the answer of the existing one. While a call waits
// for a person, Execute waits, too: see [client.Client.Pending].
//
// If the answer does not fit the schema, the error is an [*InvalidOutputError]. If a guardrail has refused the task or the answer, it is a
// [*RefusedError]. If `ctx` ends before the agent has answered, Execute returns an error, and the agent keeps running. Execute also returns an error if T has no JSON schema, and the errors of
// [client.Client.Start] and [client.Client.Answer].
func Execute[T any](ctx context.Context, c *Client, o StartOptions) (T, error) {
	var none T
	var err error
	if o.OutputSchema, err = schemaOf[T](); err != nil {
		return none, err
	}
	o.Mode = agent.Task
	started, err := c.Start(ctx, o)
	if err != nil {
		return none, err
	}
	text, err := c.Answer(ctx, started.ID)
	if err != nil {
		return none, err
	}
	answer, err := decode[T](text)
	if err != nil {
		return none, &InvalidOutputError{ID: started.ID, Problem: err.Error()}
	}
	return answer, nil
}

// schemaOf returns the JSON schema of T, or an error if T has none, for example because a field of T is a channel.
func schemaOf[T any]() (json.RawMessage, error) {
	var zero T
	schema, err := jsonschema.For[T](nil)
	if err != nil {
		return nil, fmt.Errorf("make the JSON schema of the type %T: %w; use a type that JSON can represent and that does not contain itself", zero, err)
	}
	encoded, err := json.Marshal(schema)
	if err != nil {
		return nil, fmt.Errorf("make the JSON schema of the type %T: %w; use a type that JSON can represent and that does not contain itself", zero, err)
	}
	return encoded, nil
}

// decode returns a value of type T from an answer in JSON. If that is not possible, the error names T.
func decode[T any](answer string) (T, error) {
	var decoded T
	// T may have lost fields since the agent answered, so unknown members are ignored.
	if err := exact.Decode([]byte(answer), &decoded, exact.Open); err != nil {
		return decoded, fmt.Errorf("the answer cannot be decoded into the type %T: %w; use a type that fits the agent's output schema", decoded, err)
	}
	return decoded, nil
}
