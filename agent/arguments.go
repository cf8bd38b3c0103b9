package agent

import "github.com/reagent-dev/reagent/internal/exact"

// readArguments decodes the arguments of a call that the core answers. Only the members of the type of `into` may be in them, with exactly
// these names. Package encoding/json also takes "TASK" for "task", and the last of both, and a person may have read the other one.
func readArguments(arguments string, into any) error { return exact.Decode([]byte(arguments), into, 0) }
