package agent

import (
	"encoding/json"
	"strings"

	"github.com/reagent-dev/reagent/internal/exact"
)

// readsExactly is the first key version of agents that read the arguments of the calls that the core answers under exact names: see
// [KeyVersion]. Package encoding/json, with which older agents read them, also takes "TASK" for "task", and the last of both. A person may have
// read the other one.
const readsExactly = 5

// readArguments decodes the arguments of a call, in which only the members of the type of `into` may be.
func (s *State) readArguments(arguments string, into any) error {
	if s.KeyVersion >= readsExactly {
		return exact.Decode([]byte(arguments), into, 0)
	}
	d := json.NewDecoder(strings.NewReader(arguments))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// accepted decodes arguments that [State.readArguments] has read before. An older agent has taken names that are not exact, so accepted
// takes them, too.
func accepted(arguments string, into any) error { return json.Unmarshal([]byte(arguments), into) }

// namedTwice returns the name of an argument (see [childArguments]) for which an object has two members, whose names differ in upper and
// lower case. It returns "" if there is none. Agents from [readsExactly] on have no such arguments.
func namedTwice(object string) string {
	var members map[string]json.RawMessage
	_ = json.Unmarshal([]byte(object), &members) // the caller has decoded the object
	for _, name := range []string{"task", "instance", "continue"} {
		count := 0
		for member := range members {
			if strings.EqualFold(member, name) {
				count++
			}
		}
		if count > 1 {
			return name
		}
	}
	return ""
}
