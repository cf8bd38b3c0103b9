package agent

import "github.com/reagent-dev/reagent/internal/exact"

// readArguments decodes the arguments of a call that the core itself reads. It refuses a member for which `into` has no field with
// exactly its name, and a name that occurs twice. Package encoding/json also takes "TASK" for "task", and the last of both. So the core
// could act on another value than a person has read.
func readArguments(arguments string, into any) error { return exact.Decode([]byte(arguments), into, 0) }
