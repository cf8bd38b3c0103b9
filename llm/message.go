// Package llm is the vocabulary of a chat model: messages, tool calls, one
// request, one reply, and the classes of error a model can answer with.
//
// The package imports nothing of this project, and no type of a provider's
// client library appears in it; a provider lives in a package below this one.
package llm

import "encoding/json"

// Role says who speaks in a [Message].
type Role string

// The roles of the chat-completions format.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	Tool      Role = "tool"
)

// Message is one entry of a conversation, in the form in which models take and
// give it. The zero value is not a valid message: Role is always set.
type Message struct {
	// Role may go without saying where a message is stored, never where one is sent.
	Role Role `json:"role,omitempty"`

	// Content is the text. It may be empty beside ToolCalls or Parts.
	Content string `json:"content,omitempty"`

	// Parts are the pieces of a message that is more than text, such as an
	// image. Nil means that Content is all there is.
	Parts []Part `json:"parts,omitempty"`

	// ToolCalls are the calls that an assistant message asks for, in the model's order.
	ToolCalls []ToolCall `json:"tool_calls,omitempty"`

	// ToolCallID names, in a tool message, the call that it answers.
	ToolCallID string `json:"tool_call_id,omitempty"`

	// Reasoning is what the model said it thought. It is shown to people, and sent
	// back only by a client that is told to.
	Reasoning string `json:"reasoning,omitempty"`
}

// Part is one piece of a message's content.
type Part struct {
	// Type is "text" or "image".
	Type string `json:"type"`
	Text string `json:"text,omitempty"`
	// URL locates an image; it may be a data: URL.
	URL string `json:"url,omitempty"`
}

// ToolCall is one request of the model to run a tool.
type ToolCall struct {
	// ID is the provider's. It pairs a call with its result within one message
	// and nothing more: providers reuse it within a conversation.
	ID   string `json:"id"`
	Name string `json:"name"`
	// Arguments is the text the model wrote: meant to be a JSON object, and
	// kept as it is when it is not one.
	Arguments string `json:"arguments"`
}

// ToolSpec describes a tool to a model.
type ToolSpec struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Parameters is the JSON schema of the arguments, an object schema.
	Parameters json.RawMessage `json:"parameters,omitempty"`
}

// Usage counts tokens, as the provider reports them.
type Usage struct {
	InputTokens     int `json:"input_tokens,omitempty"`
	OutputTokens    int `json:"output_tokens,omitempty"`
	CachedTokens    int `json:"cached_tokens,omitempty"`    // of InputTokens
	ReasoningTokens int `json:"reasoning_tokens,omitempty"` // of OutputTokens
}

// Add returns the sum of u and v.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		InputTokens:     u.InputTokens + v.InputTokens,
		OutputTokens:    u.OutputTokens + v.OutputTokens,
		CachedTokens:    u.CachedTokens + v.CachedTokens,
		ReasoningTokens: u.ReasoningTokens + v.ReasoningTokens,
	}
}
