package tool

import (
	"context"
	"encoding/json"
	"fmt"
)

// NewExternal makes a [Tool] whose calls no worker runs. A call waits, for days if need be, until a person or a program gives its
// result: with the command `starter complete`, or with the method Complete of package client. NewExternal sets the effect of the
// description to [External]. The arguments are not checked against the schema, because no worker sees them.
//
// NewExternal returns an error if [New] refuses the description.
func NewExternal(spec Spec) (Tool, error) {
	spec.Effect = External
	return New(spec, func(context.Context, json.RawMessage) (Result, error) {
		return Result{}, fmt.Errorf("tool %q: no worker runs this tool; give the result of a call with `starter complete`", spec.Name)
	})
}
