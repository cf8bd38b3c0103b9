package llm

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
)

// Client sends requests to a model.
type Client interface {
	// Complete sends one request and returns the model's reply. It never returns a reply for which [Reply.Validate] returns an error.
	// An error of the model, the endpoint or the connection is an [*Error]. If `ctx` ends before the reply is complete, the error
	// wraps the error of `ctx` instead.
	//
	// Complete must not retry, because its caller retries. It must be safe for concurrent use and must not modify the request.
	// If it receives the reply as a stream, it passes each [Delta] to the function that [Stream] returns.
	Complete(ctx context.Context, req Request) (Reply, error)
}

// Request is a request to a model.
//
// The JSON form of a Request must not change in later versions. An agent computes a hash of this JSON form. The hash is part
// of the key of the model call, and the agent finds the stored reply by this key. Therefore a new field must be omitted from
// the JSON form if the field is empty.
type Request struct {
	// Candidates are the models that may reply, in order of preference. A [Client] uses the first one. If the first one cannot
	// reply, the caller of the client tries the others.
	Candidates []Candidate `json:"candidates"`
	// Params are the parameters of the request.
	Params Params `json:"params,omitzero"`
	// Tools are the tools that the model may call. They must be sorted by name.
	Tools []ToolSpec `json:"tools,omitempty"`
	// Messages are the messages of the conversation, oldest first.
	Messages []Message `json:"messages,omitempty"`

	// Key identifies the model call. A client sends Key as the Idempotency-Key header. If Key is empty, the client omits the
	// header. Key is not part of the JSON form, because Key is computed from that form.
	Key string `json:"-"`
	// PromptCacheKey is the same for all requests that belong together, such as those of one agent, because they begin alike. It has at
	// most 64 characters. A client may send it so that the provider finds the beginning of the request in its prompt cache: see
	// [github.com/reagent-dev/reagent/llm/openai]. If PromptCacheKey is empty, the client omits it. It is not part of the JSON form.
	PromptCacheKey string `json:"-"`
}

// To returns the request for one of its candidates, with the parameters of this candidate.
func (r Request) To(c Candidate) Request {
	if c.Params != nil {
		schema := r.Params.OutputSchema
		r.Params, c.Params = *c.Params, nil
		r.Params.OutputSchema = schema
	}
	r.Candidates = []Candidate{c}
	return r
}

// Candidate is one model that may reply to a [Request].
type Candidate struct {
	// Name is the model's name in the configuration. The worker finds the URL, the API key and the timeout by this name.
	Name string `json:"name"`
	// Model is the provider's name of the model, as it is sent to the endpoint.
	Model string `json:"model"`
	// Params are the parameters of a request to this model, except [Params.OutputSchema]. Nil means those of the [Request].
	Params *Params `json:"params,omitempty"`
}

// Params are the parameters of a request, as in OpenAI's chat completions API. A field that is nil, 0 or empty is not set. The
// provider's default then applies, or the client's default if the API requires the field. A client ignores a field that its API does
// not have.
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
	// Extra has additional fields for the body of the request, by name. A client sends the values unchanged, and refuses fields that
	// it must set itself, such as "model".
	Extra map[string]json.RawMessage `json:"extra,omitempty" yaml:"-"`
}

// Reply is a model's reply to a [Request].
type Reply struct {
	// Message is the model's message. Its role is [Assistant].
	Message Message `json:"message"`
	// FinishReason is the finish reason of the reply, such as "stop" or "length". The values depend on the API.
	FinishReason string `json:"finish_reason,omitempty"`
	// Usage has the numbers of tokens that the provider reported.
	Usage Usage `json:"usage,omitzero"`
	// Candidate is the configuration's name of the model that replied.
	Candidate string `json:"candidate,omitempty"`
	// Model is the model's name in the provider's response.
	Model string `json:"model,omitempty"`
	// Repaired has short texts about corrections of the reply. For example, a client corrects a tool name if only upper and
	// lower case are wrong.
	Repaired []string `json:"repaired,omitempty"`
}

// MapText calls `f` for each text of the reply, and returns a copy of the reply with the results. Clients use it to hide secrets that an
// endpoint may have sent. The texts are the content, the reasoning, the IDs, names and arguments of tool calls, the model's name, the
// finish reason, and the texts in `Repaired`. The parts of the message and the name of the candidate do not change.
//
// If `f` would change the data of an [Opaque], MapText removes the Opaque, because its provider would refuse changed data.
func (r Reply) MapText(f func(string) string) Reply {
	r.Model, r.FinishReason = f(r.Model), f(r.FinishReason)
	r.Message.Content, r.Message.Reasoning = f(r.Message.Content), f(r.Message.Reasoning)
	r.Message.Opaque = r.Message.Opaque.unless(f)
	r.Message.ToolCalls = slices.Clone(r.Message.ToolCalls)
	for i := range r.Message.ToolCalls {
		call := &r.Message.ToolCalls[i]
		call.ID, call.Name, call.Arguments, call.Opaque = f(call.ID), f(call.Name), f(call.Arguments), call.Opaque.unless(f)
	}
	r.Repaired = slices.Clone(r.Repaired)
	for i, repair := range r.Repaired {
		r.Repaired[i] = f(repair)
	}
	return r
}

// unless returns `o`, or the zero Opaque if `f` would change the data.
func (o Opaque) unless(f func(string) string) Opaque {
	if f(o.Data) != o.Data {
		return Opaque{}
	}
	return o
}

// Validate returns an [*Error] of class [EmptyReply] if the reply is empty, and nil otherwise. A reply is empty if it has no
// tool call, no [Part] and no text except white space. Reasoning does not count as text. Validate ignores the usage, because
// many endpoints report none.
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
