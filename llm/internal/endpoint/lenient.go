package endpoint

import (
	"encoding/json"
	"strings"
)

// Text is a string whose decoder accepts any JSON value. The value null becomes "". Any other value that is not a string
// becomes its JSON text. For example, some endpoints send the arguments of a call as an object instead of a string. The
// decoder converts this object into the string that OpenAI would send.
type Text string

// UnmarshalJSON accepts any JSON value.
func (t *Text) UnmarshalJSON(encoded []byte) error {
	var s string
	if encoded[0] != '"' && string(encoded) != "null" {
		s = strings.ToValidUTF8(string(encoded), "\uFFFD") // as the decoder does with strings
	} else if err := json.Unmarshal(encoded, &s); err != nil {
		return err
	}
	*t = Text(s)
	return nil
}

// Count is a number of things whose decoder accepts any JSON value. The decoder cuts off the fraction of a number. A negative number
// becomes 0, and a number above [maxCount] becomes maxCount. A value that is not a number becomes 0.
type Count int

// maxCount is the largest [Count]. Sums of several counts must not overflow.
const maxCount = 1 << 40

// UnmarshalJSON accepts any JSON value.
func (c *Count) UnmarshalJSON(encoded []byte) error {
	var n float64
	if json.Unmarshal(encoded, &n) == nil {
		*c = Count(min(max(n, 0), maxCount))
	}
	return nil
}

// Optional is a value whose decoder accepts any JSON value. It is zero if the JSON value cannot be decoded. An error would make the client
// lose a reply that was paid for.
type Optional[T any] struct{ Value T }

// UnmarshalJSON accepts any JSON value.
func (o *Optional[T]) UnmarshalJSON(encoded []byte) error {
	var value T
	if json.Unmarshal(encoded, &value) != nil {
		value = *new(T) // of a value that cannot be decoded, a part may have been
	}
	o.Value = value
	return nil
}
