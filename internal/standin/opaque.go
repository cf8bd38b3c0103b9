package standin

import (
	"encoding/json"
	"maps"

	"github.com/reagent-dev/reagent/llm"
)

// The additions of providers are in the [llm.Opaque] of a message or a tool call. Its Data is a JSON object. The members of this
// object become members of the message or of the call in the response.

// members returns the members of a JSON object; nil if `data` is not a JSON object.
func members(data string) map[string]json.RawMessage {
	var all map[string]json.RawMessage
	if json.Unmarshal([]byte(data), &all) != nil {
		return nil
	}
	return all
}

// join returns the JSON object `object` with the members `more`. A member of `more` replaces a member of the same name. If
// `more` is empty, join returns `object` unchanged.
func join(object []byte, more map[string]json.RawMessage) []byte {
	if len(more) == 0 {
		return object
	}
	all := members(string(object))
	maps.Copy(all, more)
	return compact(all)
}

// MarshalJSON returns the JSON form of the message with the members of its Opaque.
func (s spoken) MarshalJSON() ([]byte, error) {
	type plain spoken
	return join(compact(plain(s)), s.more), nil
}

// MarshalJSON returns the JSON form of the call with the members of its Opaque.
func (c spokenCall) MarshalJSON() ([]byte, error) {
	type plain spokenCall
	return join(compact(plain(c)), c.more), nil
}

// MarshalJSON returns the JSON form of the delta with its further members.
func (d delta) MarshalJSON() ([]byte, error) {
	type plain delta
	return join(compact(plain(d)), d.more), nil
}

// include adds a member to the data of an Opaque. A member of the same name is replaced.
func include(o *llm.Opaque, name string, value any) {
	o.Data = string(join([]byte(`{}`), members(o.Data)))
	o.Data = string(join([]byte(o.Data), map[string]json.RawMessage{name: compact(value)}))
}

func encoded(v any) string { return string(compact(v)) }
