// Package tool defines tools: the interface of a tool, constructors that make a tool from a Go function, and a registry of
// tools. The package depends neither on Temporal nor on a model provider.
package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"
)

// Effect says what a tool changes. The effect decides whether a call may run again if the outcome of the call is unknown. The
// values of the Effect constants must never change, because the stored states of running agents contain them.
type Effect string

const (
	// ReadOnly is the effect of a tool that changes nothing. Such a tool may run any number of times.
	ReadOnly Effect = "read-only"
	// Idempotent is the effect of a tool that makes its change only once per [Info.Key]. Such a tool may run several times with
	// the same key.
	Idempotent Effect = "idempotent"
	// AtMostOnce is the effect of a tool that must never run twice for the same call. It is the default: the empty Effect means
	// AtMostOnce.
	AtMostOnce Effect = "at-most-once"
	// External is the effect of a tool whose calls no worker runs. The call waits until somebody outside the agent gives its result:
	// see [NewExternal].
	External Effect = "external"
)

// Repeatable reports whether a call with an unknown outcome may run again with the same [Info.Key]. It returns false for the empty
// Effect and for an unknown value.
func (e Effect) Repeatable() bool { return e == ReadOnly || e == Idempotent }

// Spec describes a tool. When an agent starts, it stores the Spec of each of its tools. Later the agent uses the stored Spec.
type Spec struct {
	// Name is the name that the model sees. It must match [A-Za-z0-9_-]{1,64}, the pattern that model endpoints require.
	Name string `json:"name"`
	// Description tells the model what the tool does.
	Description string `json:"description,omitempty"`
	// Schema is the JSON schema of the arguments. It must describe an object. If Schema is empty, [Run] checks only that the
	// arguments are a JSON object.
	Schema json.RawMessage `json:"schema,omitempty"`
	// Effect says whether a call may run again if its outcome is unknown. Empty means [AtMostOnce].
	Effect Effect `json:"effect,omitempty"`
	// NotDestructive says that the tool only adds: a call neither changes nor deletes what exists. False means that a call may do
	// so, unless the effect is [ReadOnly].
	NotDestructive bool `json:"not_destructive,omitempty"`
	// NeedsApproval says that a call needs a person's approval if the approval policy of the agent has no rule for the tool. A rule for
	// the tool, for its MCP server or for "default" decides instead of NeedsApproval. False means that a call without a rule needs no
	// approval.
	NeedsApproval bool `json:"needs_approval,omitempty"`
	// ResultTimeout is how long a call with the effect [External] waits for its result. After this time, the model gets an error
	// result. Zero means no limit. It has no meaning for other effects.
	ResultTimeout time.Duration `json:"result_timeout,omitempty"`
	// TaskQueue is the task queue of the only worker that can run the tool. Empty means that every worker on the agent's own task
	// queue can run the tool.
	TaskQueue string `json:"task_queue,omitempty"`
}

// Destructive reports whether a call of the tool may change or delete what exists. It returns false only if the effect is
// [ReadOnly] or [Spec.NotDestructive] is true. So it returns true for a tool about which nothing is known, and for an [Idempotent]
// tool unless NotDestructive is set.
func (s Spec) Destructive() bool { return s.Effect != ReadOnly && !s.NotDestructive }

// Tool is a function that a model may call.
type Tool interface {
	// Spec returns the description of the tool. It returns the same value every time.
	Spec() Spec

	// Call runs the tool with the arguments `args`, a JSON object. [Run] has checked the arguments against the tool's schema, with the
	// exceptions that Run describes.
	//
	// Call returns a [Result] for everything that the model should read, including failures. It returns a Go error only for a problem that
	// the model cannot solve. An error that wraps [ErrOutcomeUnknown] means that the tool may have run. Any other error means that another
	// attempt may succeed: the tool did not run, or it is [ReadOnly].
	//
	// `ctx` has the [Info] and the deadline of the call. Call must be safe for concurrent use.
	Call(ctx context.Context, args json.RawMessage) (Result, error)
}

// Result is the result of a tool call. The model reads it.
type Result struct {
	// Content is the text that the model reads.
	Content string `json:"content"`
	// IsError is true if the content describes a failure. Such a Result is called an error result.
	IsError bool `json:"is_error,omitempty"`
	// Question is a question to a person; nil if the tool has none. With a question, the call has not ended, and Content and
	// IsError have no meaning. When a person has answered, perhaps days later, the tool is called again, with [Info.Answer] set.
	Question *Question `json:"question,omitempty"`
}

// Question is a question of a tool to a person. A tool may ask up to ten questions about one call, one after another.
type Question struct {
	// Text is the question. It has at most 16,000 bytes. Required.
	Text string `json:"text"`
	// Choices are answers to choose from, at most 50. The person may give another answer.
	Choices []string `json:"choices,omitempty"`
	// State is what the tool needs to go on. The tool gets it back with the answer. Text, Choices and State together have at most
	// 200,000 bytes.
	State string `json:"state,omitempty"`
}

// Answer is the answer of a person to a [Question]. It is untrusted input, as the arguments of the model are.
type Answer struct {
	// State is [Question.State] of the question that the person has answered.
	State string
	// Text is the answer. If Declined is true, Text is the reason, or empty.
	Text string
	// Declined is true if the person does not want to answer.
	Declined bool
}

// Info describes the call that a tool is running. The tool calls [InfoFrom] to get the Info from its context.
type Info struct {
	// Key identifies the call. A tool that changes an external system passes it to that system as the idempotency key. Every
	// attempt at the call has the same Key. When the tool is called again with a person's answer, that call has another Key.
	Key string
	// CallID is the ID that the model gave to the call. It need not be unique; use Key to recognise a call.
	CallID string
	// AgentID is the ID of the agent that called the tool.
	AgentID string
	// Metadata is what the program that started the agent, or that sent the message, knows about it, such as the customer; nil if there is
	// none. A tool may trust it as far as it trusts that program: the model neither sees nor writes it. It must not be changed.
	Metadata map[string]string
	// CallerToken is the function of [CallerToken]. Nil means that the worker has no source of tokens.
	CallerToken func(ctx context.Context, audience, refused string) (string, error)
	// Answer is a person's answer to the tool's last question about this call: see [Result.Question]. It is nil if the tool has
	// asked nothing.
	Answer *Answer
	// ResultBytes is the maximum size of the result, in bytes. A longer result is cut. 0 means that the caller set no maximum.
	ResultBytes int
	// Logger gets messages about the call. Nil means [slog.Default]. The worker's logger hides the secrets that the worker knows.
	Logger *slog.Logger
	// Progress shows the output of the running tool to people: each call adds a piece of text. Nil means that nobody watches; use
	// the function [Progress], which allows nil. The text is a preview of which only the end is kept, 2,000 bytes on a worker. It
	// never enters the result. Pieces may have any size, and may end within a UTF-8 character. Progress returns at once. It is safe
	// for concurrent use, and pieces after the end of the call are ignored.
	Progress func(text string)
}

// Progress adds a piece of text to the output that people see while the tool runs: see [Info.Progress]. `ctx` is the context of the
// call. If nobody watches, Progress does nothing. It is safe for concurrent use.
func Progress(ctx context.Context, text string) {
	if progress := InfoFrom(ctx).Progress; progress != nil {
		progress(text)
	}
}

func logger(ctx context.Context) *slog.Logger { return cmp.Or(InfoFrom(ctx).Logger, slog.Default()) }

// ErrOutcomeUnknown means that a call was sent and may have taken effect. For example, the connection broke before the response
// came. In this case, [Tool.Call] returns an error that wraps ErrOutcomeUnknown. After this error, an [AtMostOnce] tool is not
// run again for the same call.
var ErrOutcomeUnknown = errors.New("outcome unknown")

// ErrNotRun means that a tool did nothing and that another attempt may succeed. For example, a server is busy. A function that
// was passed to [Func] then returns an error that wraps ErrNotRun, and [Tool.Call] returns this error unchanged. Most other
// errors of the function become a result that the model reads; see [Func].
var ErrNotRun = errors.New("did not run")

type infoKey struct{}

// WithInfo returns a copy of `ctx` that contains the given [Info]. [InfoFrom] gets the Info from this copy.
func WithInfo(ctx context.Context, info Info) context.Context {
	return context.WithValue(ctx, infoKey{}, info)
}

// InfoFrom returns the [Info] that [WithInfo] added to a context, or the zero Info if there is none.
func InfoFrom(ctx context.Context) Info {
	info, _ := ctx.Value(infoKey{}).(Info)
	return info
}
