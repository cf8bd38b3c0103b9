// Package tool defines what a tool is, how one is made from a Go function, and
// how a set of them is kept. Nothing here knows of Temporal or of a model's
// provider.
package tool

import (
	"context"
	"encoding/json"
	"errors"
)

// Effect says what happens to the world when a tool runs, and so what may be
// done when it is not known whether it ran. The strings are protocol: they are
// pinned in the state of running agents.
type Effect string

const (
	// ReadOnly tools change nothing; they are run again freely.
	ReadOnly Effect = "read-only"
	// Idempotent tools change something once per key, however often they run.
	Idempotent Effect = "idempotent"
	// AtMostOnce tools are never run a second time for one call. This is the
	// default: the zero Effect means AtMostOnce.
	AtMostOnce Effect = "at-most-once"
)

// Repeatable reports whether a call whose outcome is unknown may be run again
// with the same key. The zero Effect and a word not known here may not.
func (e Effect) Repeatable() bool { return e == ReadOnly || e == Idempotent }

// Spec is a tool's description, pinned by an agent when it starts.
type Spec struct {
	// Name matches [A-Za-z0-9_-]{1,64}, which is what model endpoints take.
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Schema is the JSON schema of the arguments: an object schema.
	Schema json.RawMessage `json:"schema,omitempty"`
	Effect Effect          `json:"effect,omitempty"`
	// Queue is the task queue of the one worker that can run the tool. Empty
	// means any worker of the agent's own task queue.
	Queue string `json:"queue,omitempty"`
}

// Tool is something a model may call.
type Tool interface {
	// Spec describes the tool. It returns the same value every time.
	Spec() Spec

	// Call runs the tool with arguments that are a JSON object valid by the
	// schema. What the model should read, a failure included, is a Result. A Go
	// error is for what the model cannot mend: it says that the tool did not run and
	// that trying again may help, unless it wraps [ErrOutcomeUnknown].
	//
	// The context carries the call's [Info] and its deadline. Call must be safe
	// for concurrent use.
	Call(ctx context.Context, args json.RawMessage) (Result, error)
}

// Result is the answer of a tool.
type Result struct {
	// Content is the text the model reads.
	Content string `json:"content"`
	// IsError marks Content as the description of a failure.
	IsError bool `json:"is_error,omitempty"`
}

// Info tells a tool which call it serves.
type Info struct {
	// Key names this one effect, the same on every attempt. A tool that changes
	// something passes it on as the far side's idempotency key.
	Key string
	// CallID is the model's ID of the call.
	CallID string
	// AgentID is the agent that called.
	AgentID string
	// ResultBytes is the size to which the result is cut; 0 where nobody says.
	ResultBytes int
}

// ErrOutcomeUnknown is wrapped by an error of [Tool.Call] when the call was sent
// and may have taken effect: an answer was lost. An [AtMostOnce] tool is not run
// again after it.
var ErrOutcomeUnknown = errors.New("outcome unknown")

// ErrNotRun is wrapped by an error of a function given to [Func] to say that
// nothing happened and that trying again may help, such as when a server is
// busy. Without it the error is a result that the model reads.
var ErrNotRun = errors.New("did not run")

type infoKey struct{}

// WithInfo returns a context that carries info.
func WithInfo(ctx context.Context, info Info) context.Context {
	return context.WithValue(ctx, infoKey{}, info)
}

// InfoFrom returns the call's [Info]; the zero Info outside of a call.
func InfoFrom(ctx context.Context) Info {
	info, _ := ctx.Value(infoKey{}).(Info)
	return info
}
