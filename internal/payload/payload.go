// Package payload returns the sizes of Temporal's payloads.
package payload

import "encoding/json"

// Size returns the number of bytes that a value has in a Temporal payload. This is the length of the value's JSON encoding,
// which the SDK's default data converter uses. Size returns 0 if the value cannot be encoded as JSON.
func Size(v any) int {
	text, err := json.Marshal(v)
	if err != nil {
		return 0
	}
	return len(text)
}
