// Package typed gives agents the JSON schema of a Go type, and decodes their answers into it.
package typed

import (
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
)

// Schema returns the JSON schema of T. The error says why T has none.
func Schema[T any]() (json.RawMessage, error) {
	var zero T
	schema, err := jsonschema.For[T](nil)
	if err != nil {
		return nil, fmt.Errorf("the schema of %T: %w", zero, err)
	}
	encoded, err := json.Marshal(schema)
	if err != nil {
		return nil, fmt.Errorf("the schema of %T: %w", zero, err)
	}
	return encoded, nil
}

// Decode decodes an answer.
func Decode[T any](answer string) (T, error) {
	var decoded T
	if err := json.Unmarshal([]byte(answer), &decoded); err != nil {
		return decoded, fmt.Errorf("the answer is not JSON of the type %T: %w", decoded, err)
	}
	return decoded, nil
}
