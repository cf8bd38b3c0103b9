package llm

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
)

// Client asks one model one question.
//
// Complete returns a reply that passed [Reply.Validate], or an error; an error
// that the model or the way to it caused is an [*Error]. A Client does not retry: the caller
// owns the only retry policy. Clients are safe for concurrent use and do not
// modify the request. A client that gets a reply piece by piece passes the pieces
// on to [Stream] of the context.
type Client interface {
	Complete(ctx context.Context, req Request) (Reply, error)
}

// Request is everything that is asked of a model. Its JSON form is what model
// keys hash, so an absent field is not encoded: a field added later changes no
// key of an agent that does not use it.
type Request struct {
	// Candidates are the models that may answer, in order of preference. The
	// first is used; the others are for when it cannot answer.
	Candidates []Candidate `json:"candidates"`
	Params     Params      `json:"params,omitzero"`
	// Tools are sorted by name.
	Tools    []ToolSpec `json:"tools,omitempty"`
	Messages []Message  `json:"messages,omitempty"`

	// Key is the idempotency key of this request, sent as the Idempotency-Key
	// header. It is derived from the other fields, so it is not hashed.
	Key string `json:"-"`
}

// Candidate is one model that may answer.
type Candidate struct {
	// Name is the configuration's name for the model; the worker finds URL, key
	// and timeout by it.
	Name string `json:"name"`
	// Model is the provider's name for it, as sent.
	Model string `json:"model"`
}

// Params are the sampling parameters. A nil or empty field is not sent, which
// leaves the choice to the provider.
type Params struct {
	Temperature       *float64 `json:"temperature,omitempty" yaml:"temperature"`
	TopP              *float64 `json:"top_p,omitempty" yaml:"top_p"`
	MaxOutputTokens   int      `json:"max_output_tokens,omitempty" yaml:"max_output_tokens"`
	Seed              *int     `json:"seed,omitempty" yaml:"seed"`
	ReasoningEffort   string   `json:"reasoning_effort,omitempty" yaml:"reasoning_effort"`
	ParallelToolCalls *bool    `json:"parallel_tool_calls,omitempty" yaml:"parallel_tool_calls"`
	// ToolChoice is "auto", "none", "required" or the name of a tool.
	ToolChoice string `json:"tool_choice,omitempty" yaml:"tool_choice"`
	// OutputSchema asks for an answer of this JSON schema.
	OutputSchema json.RawMessage `json:"output_schema,omitempty" yaml:"-"`
	// Extra holds fields that are passed through to the endpoint as they are.
	Extra map[string]json.RawMessage `json:"extra,omitempty" yaml:"-"`
}

// Reply is the answer of a model.
type Reply struct {
	// Message has the role [Assistant].
	Message Message `json:"message"`
	// FinishReason is the provider's word, unchanged.
	FinishReason string `json:"finish_reason,omitempty"`
	Usage        Usage  `json:"usage,omitzero"`
	// Candidate is the Name of the candidate that answered.
	Candidate string `json:"candidate,omitempty"`
	// Model is what the provider says answered.
	Model string `json:"model,omitempty"`
	// Repaired says, in a few words each, what the client put right in what the
	// model wrote, such as a tool's name in the wrong case.
	Repaired []string `json:"repaired,omitempty"`
}

// MapText returns a copy of the reply in which f replaced each text that comes from the endpoint: the content, the reasoning, the
// IDs, names and arguments of tool calls, the model's name, the finish reason, and the repairs. Parts stay as they are.
func (r Reply) MapText(f func(string) string) Reply {
	r.Model, r.FinishReason = f(r.Model), f(r.FinishReason)
	r.Message.Content, r.Message.Reasoning = f(r.Message.Content), f(r.Message.Reasoning)
	r.Message.ToolCalls = slices.Clone(r.Message.ToolCalls)
	for i := range r.Message.ToolCalls {
		call := &r.Message.ToolCalls[i]
		call.ID, call.Name, call.Arguments = f(call.ID), f(call.Name), f(call.Arguments)
	}
	r.Repaired = slices.Clone(r.Repaired)
	for i, repair := range r.Repaired {
		r.Repaired[i] = f(repair)
	}
	return r
}

// Validate reports an [*Error] of class [EmptyReply] when the reply holds
// neither text nor a call. Blank text is none. Text counts whatever the usage
// says: a usage of 0/0 beside real text is odd, not empty, since many endpoints
// report none. Reasoning alone is no text.
func (r Reply) Validate() error {
	if strings.TrimSpace(r.Message.Content) != "" || len(r.Message.ToolCalls) > 0 || len(r.Message.Parts) > 0 {
		return nil
	}
	message := "the model answered with no text and no tool call"
	if r.FinishReason != "" {
		message += " (finish reason " + r.FinishReason + ")"
	}
	return &Error{Class: EmptyReply, Model: r.Model, FinishReason: r.FinishReason, Usage: r.Usage, Message: message}
}
