package object

import (
	"encoding/json"
	"time"
)

// Time is a time. In JSON, it is a text as in RFC 3339, in UTC. A field with the tag omitzero is absent if the time is zero.
type Time time.Time

// IsZero reports whether the time is the zero time.
func (t Time) IsZero() bool { return time.Time(t).IsZero() }

// MarshalJSON returns the time as a JSON string.
func (t Time) MarshalJSON() ([]byte, error) { return json.Marshal(time.Time(t).UTC()) }

// UnmarshalJSON reads a time as MarshalJSON writes it.
func (t *Time) UnmarshalJSON(text []byte) error { return (*time.Time)(t).UnmarshalJSON(text) }

// at returns the time of a number of Unix milliseconds; zero for 0.
func at(ms int64) Time {
	if ms == 0 {
		return Time{}
	}
	return Time(time.UnixMilli(ms))
}

// Milliseconds is a duration. Its fields have names that end in _ms.
type Milliseconds int64

// Millis returns a duration in milliseconds.
func Millis(d time.Duration) Milliseconds { return Milliseconds(d.Milliseconds()) }
