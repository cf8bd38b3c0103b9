// Package payload knows what Temporal's payloads cost.
package payload

import "encoding/json"

// Size returns how many bytes v takes in a payload, as the default data converter
// encodes it; 0 for a value that has no JSON form.
func Size(v any) int {
	text, err := json.Marshal(v)
	if err != nil {
		return 0
	}
	return len(text)
}
