package endpoint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Encode is like [json.Marshal], but without HTML escaping.
func Encode(v any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n")), nil
}

// CheckExtra checks the field `Extra` of [llm.Params]. It returns an error if a parameter has a name in `reserved`, because the client
// sets this parameter itself, or if a value is not valid JSON.
func CheckExtra(extra map[string]json.RawMessage, reserved []string) error {
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		if slices.Contains(reserved, name) {
			return fmt.Errorf("the extra parameter %q is not allowed, because the client sets it; remove it", name)
		}
		if !json.Valid(extra[name]) {
			return fmt.Errorf("the value of the extra parameter %q is not valid JSON; correct it or remove it", name)
		}
	}
	return nil
}
