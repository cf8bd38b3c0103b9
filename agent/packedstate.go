package agent

import (
	"bytes"
	"encoding/json"
)

// PackedState is the JSON of a [State] for the agent's next run, compressed if it is long. In the JSON of a [Start], a compressed state is a
// base64 text. One that is not compressed is an object there, so that people can read it in the Web UI.
type PackedState []byte

// Plain reports whether the state is not compressed.
func (p PackedState) Plain() bool { return len(p) > 0 && p[0] == '{' } // compressed data begins with another byte

// MarshalJSON implements [json.Marshaler].
func (p PackedState) MarshalJSON() ([]byte, error) {
	if p.Plain() {
		return p, nil
	}
	return json.Marshal([]byte(p))
}

// UnmarshalJSON implements [json.Unmarshaler].
func (p *PackedState) UnmarshalJSON(data []byte) error {
	if PackedState(data).Plain() {
		*p = bytes.Clone(data)
		return nil
	}
	return json.Unmarshal(data, (*[]byte)(p))
}
