package llm

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
)

// Client sends requests to a model.
type Client interface {
	// Complete sends one request and returns the model's reply, which has passed [Reply.Validate]. An error that the model, the
	// endpoint or the connection caused is an [*Error]. If ctx ends first, the error wraps the error of ctx instead.
	//
	// Complete must not retry, because the caller has the only retry policy. It must be safe for concurrent use and must not
	// modify the request. If it receives the reply as a stream, it passes each delta to the function that [Stream] returns for
	// ctx.
	Complete(ctx context.Context, req Request) (Reply, error)
}

// Request is a request to a model. The key of a model call is computed from two hashes of its request: the prefix hash and
// the transcript hash. Both hashes are made from JSON texts that omit empty optional fields. So if a new field is added to
// Request, the keys of all model calls that do not use the field stay the same.
type Request struct {
	// Candidates are the models that may reply, in order of preference. A [Client] uses the first one. The caller tries the
	// others if the first one cannot reply.
	Candidates []Candidate `json:"candidates"`
	// Params are the parameters of the request.
	Params Params `json:"params,omitzero"`
	// Tools are the tools that the model may call. They must be sorted by name.
	Tools []ToolSpec `json:"tools,omitempty"`
	// Messages are the messages of the conversation, oldest first.
	Messages []Message `json:"messages,omitempty"`

	// Key is the key of the model call. It is sent as the Idempotency-Key header, unless it is empty. It is not part of the
	// JSON form, because it is computed from that form.
	Key string `json:"-"`
}

// Candidate is one model that may reply to a [Request].
type Candidate struct {
	// Name is the model's name in the configuration. The worker uses this name to find the URL, the API key and the timeout.
	Name string `json:"name"`
	// Model is the provider's name of the model, as it is sent to the endpoint.
	Model string `json:"model"`
}

// Params are the parameters of a request, as in OpenAI's chat completions API. A field that is nil, 0 or empty is not sent, so
// the provider's default applies.
type Params struct {
	Temperature       *float64 `json:"temperature,omitempty" yaml:"temperature"`
	TopP              *float64 `json:"top_p,omitempty" yaml:"top_p"`
	MaxOutputTokens   int      `json:"max_output_tokens,omitempty" yaml:"max_output_tokens"`
	Seed              *int     `json:"seed,omitempty" yaml:"seed"`
	ReasoningEffort   string   `json:"reasoning_effort,omitempty" yaml:"reasoning_effort"`
	ParallelToolCalls *bool    `json:"parallel_tool_calls,omitempty" yaml:"parallel_tool_calls"`
	// ToolChoice is "auto", "none", "required" or the name of a tool.
	ToolChoice string `json:"tool_choice,omitempty" yaml:"tool_choice"`
	// OutputSchema requests a reply whose text matches this JSON schema.
	OutputSchema json.RawMessage `json:"output_schema,omitempty" yaml:"-"`
	// Extra has additional fields for the body of the request. They are sent unchanged.
	Extra map[string]json.RawMessage `json:"extra,omitempty" yaml:"-"`
}

// Reply is a model's reply to a [Request].
type Reply struct {
	// Message has the role [Assistant].
	Message Message `json:"message"`
	// FinishReason is the provider's finish reason, unchanged.
	FinishReason string `json:"finish_reason,omitempty"`
	// Usage is the number of tokens that the provider reported.
	Usage Usage `json:"usage,omitzero"`
	// Candidate is the Name of the candidate that replied.
	Candidate string `json:"candidate,omitempty"`
	// Model is the name of the model in the provider's response.
	Model string `json:"model,omitempty"`
	// Repaired has a short text for each mistake of the model that the client corrected, such as a tool name in the wrong
	// case.
	Repaired []string `json:"repaired,omitempty"`
}

// MapText returns a copy of r in which each text that comes from the endpoint is replaced by the result of f for this text.
// These texts are the content, the reasoning, the IDs, names and arguments of tool calls, the model's name, the finish reason,
// and the texts in Repaired. MapText does not change the Parts of the message.
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

// Validate returns an [*Error] of class [EmptyReply] if the reply has no text, no tool call and no part. Text that consists of
// white space does not count, and reasoning does not count. Validate ignores the usage, because many endpoints report no
// usage: a reply with text and a usage of 0 tokens is not empty.
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
