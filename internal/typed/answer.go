// Package typed makes the JSON schema of a Go type for an agent's answers, and decodes answers into the type.
package typed

import (
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
)

// Schema returns the JSON schema of T. It returns an error if T has no JSON schema, for example because it has a channel.
func Schema[T any]() (json.RawMessage, error) {
	var zero T
	schema, err := jsonschema.For[T](nil)
	if err != nil {
		return nil, fmt.Errorf("make the JSON schema of the type %T: %w", zero, err)
	}
	encoded, err := json.Marshal(schema)
	if err != nil {
		return nil, fmt.Errorf("make the JSON schema of the type %T: %w", zero, err)
	}
	return encoded, nil
}

// Decode decodes the JSON text of an answer into a T. The error names T if the text is not JSON or does not fit.
func Decode[T any](answer string) (T, error) {
	var decoded T
	if err := json.Unmarshal([]byte(answer), &decoded); err != nil {
		return decoded, fmt.Errorf("the answer is not JSON of the type %T: %w", decoded, err)
	}
	return decoded, nil
}
