// Package tool defines tools: the interface of a tool, constructors that make a tool from a Go function, and a registry of
// tools. The package depends neither on Temporal nor on a model provider.
package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
)

// Effect classifies a tool by the changes that it makes. The effect decides whether a call may run again if its outcome is
// unknown. The values of the Effect constants must never change, because the states of running agents contain them.
type Effect string

const (
	// ReadOnly is the effect of a tool that changes nothing. It may run any number of times.
	ReadOnly Effect = "read-only"
	// Idempotent is the effect of a tool that makes its change once per [Info.Key], even if it runs several times with
	// that key.
	Idempotent Effect = "idempotent"
	// AtMostOnce is the effect of a tool that must never run twice for the same call. It is the default: the zero Effect
	// means AtMostOnce.
	AtMostOnce Effect = "at-most-once"
)

// Repeatable reports whether a call with an unknown outcome may run again with the same [Info.Key]. It is false for the zero
// Effect and for an unknown value.
func (e Effect) Repeatable() bool { return e == ReadOnly || e == Idempotent }

// Spec describes a tool. An agent stores the Spec when it starts and keeps it.
type Spec struct {
	// Name must match [A-Za-z0-9_-]{1,64}, the pattern that model endpoints require.
	Name string `json:"name"`
	// Description tells the model what the tool does.
	Description string `json:"description,omitempty"`
	// Schema is the JSON schema of the arguments. It must describe an object. If it is empty, [Run] checks only that the
	// arguments are a JSON object.
	Schema json.RawMessage `json:"schema,omitempty"`
	// Effect says whether a call may run again. Empty means [AtMostOnce].
	Effect Effect `json:"effect,omitempty"`
	// Queue is the task queue of the only worker that can run the tool. Empty means that every worker on the agent's own
	// task queue can run it.
	Queue string `json:"queue,omitempty"`
}

// Tool is a function that a model may call.
type Tool interface {
	// Spec describes the tool. It returns the same value every time.
	Spec() Spec

	// Call runs the tool with a JSON object of arguments (args). [Run] has checked the object against the tool's schema, with the
	// exceptions that are described there.
	//
	// Call returns a Result for everything that the model should read, including failures. It returns a Go error only for a
	// problem that the model cannot solve. An error that wraps [ErrOutcomeUnknown] means that the tool may have run. Any other
	// error means that the tool did not run and that another attempt may succeed.
	//
	// ctx has the call's [Info] and its deadline. Call must be safe for concurrent use.
	Call(ctx context.Context, args json.RawMessage) (Result, error)
}

// Result is the result of a tool call.
type Result struct {
	// Content is the text that the model reads.
	Content string `json:"content"`
	// IsError says that Content describes a failure.
	IsError bool `json:"is_error,omitempty"`
}

// Info describes the call that a tool is running. The tool gets it from its context with [InfoFrom].
type Info struct {
	// Key identifies the call. It is the same for every attempt at the call. A tool that changes an external system passes
	// Key to that system as the idempotency key.
	Key string
	// CallID is the model's ID of the call.
	CallID string
	// AgentID is the ID of the agent that called the tool.
	AgentID string
	// ResultBytes is the size limit of the result, in bytes. A longer result is cut. 0 means that the caller set no limit.
	ResultBytes int
	// Logger gets messages about the call. Nil means [slog.Default]. The worker's logger hides the secrets that the worker knows.
	Logger *slog.Logger
}

// logger returns the logger for messages about the call that runs with this context.
func logger(ctx context.Context) *slog.Logger { return cmp.Or(InfoFrom(ctx).Logger, slog.Default()) }

// ErrOutcomeUnknown means that a call was sent and may have taken effect, for example because the connection broke before the
// response came. In this case, [Tool.Call] returns an error that wraps ErrOutcomeUnknown. After this error, an [AtMostOnce]
// tool is not run again for the same call.
var ErrOutcomeUnknown = errors.New("outcome unknown")

// ErrNotRun means that a tool did nothing and that another attempt may succeed, for example because a server is busy. In this
// case, a function that was passed to [Func] returns an error that wraps ErrNotRun, and [Tool.Call] returns the error
// unchanged. Most other errors of the function become a result that the model reads; see [Func].
var ErrNotRun = errors.New("did not run")

// infoKey is the key of the [Info] in a context.
type infoKey struct{}

// WithInfo returns a copy of ctx that contains the given [Info]. [InfoFrom] gets the Info from this context.
func WithInfo(ctx context.Context, info Info) context.Context {
	return context.WithValue(ctx, infoKey{}, info)
}

// InfoFrom returns the [Info] that [WithInfo] put into ctx, or the zero Info if there is none.
func InfoFrom(ctx context.Context) Info {
	info, _ := ctx.Value(infoKey{}).(Info)
	return info
}
