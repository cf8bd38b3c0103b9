// Package llm defines the types of a chat model's API: messages, tool calls, requests, replies, and classes of errors.
//
// The package does not import other packages of this project, and it uses no types of a provider's client library. The clients
// for providers are in packages below this one.
package llm

import (
	"encoding/json"
	"strings"
)

// Role is the role of the author of a [Message].
type Role string

// The roles, with their names in OpenAI's chat completions API.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	Tool      Role = "tool"
)

// Message is one message of a conversation with a model.
type Message struct {
	// Role is required in a [Request]. It may be empty in a stored reply, because the role of a reply is always [Assistant].
	Role Role `json:"role,omitempty"`

	// Content is the text. It may be empty if there are tool calls or parts.
	Content string `json:"content,omitempty"`

	// Parts are further parts of the content, such as images. Clients send the text before the parts. If Parts is nil, the
	// message has only text.
	Parts []Part `json:"parts,omitempty"`

	// ToolCalls are the tool calls of an assistant message, in the model's order.
	ToolCalls []ToolCall `json:"tool_calls,omitempty"`

	// ToolCallID is the ID of the tool call whose result is in this message. It is set only in a tool message.
	ToolCallID string `json:"tool_call_id,omitempty"`

	// Reasoning is the reasoning text of an assistant message. It is shown to people. The client's options, the provider and the model
	// determine whether a client sends the reasoning back to the model.
	Reasoning string `json:"reasoning,omitempty"`

	// Opaque is data of the provider that made an assistant message.
	Opaque Opaque `json:"opaque,omitzero"`
}

// Opaque is data that a provider adds to its replies and needs back in later requests, such as the signature of reasoning. Only the
// client interprets the data. A client sends the data back unchanged, and only to the same family of endpoints, because other
// endpoints would refuse it. The zero Opaque has no data.
type Opaque struct {
	// Family names the endpoints that understand the data. A client compares it with its own family.
	Family string `json:"family"`
	// Data is a JSON value. It is stored as text, so that every byte stays the same.
	Data string `json:"data"`
}

// Part is one part of a message's content.
type Part struct {
	// Type is "text" or "image".
	Type string `json:"type"`
	// Text is the text of a part of type "text".
	Text string `json:"text,omitempty"`
	// URL is the URL of an image. It may be a data: URL.
	URL string `json:"url,omitempty"`
}

// ToolCall is a model's request to run a tool.
type ToolCall struct {
	// ID is the provider's ID of the call. The tool message with the result has this ID in [Message.ToolCallID]. An ID is unique only
	// among the calls of one message. Some providers use an ID again in later messages.
	ID string `json:"id"`
	// Name is the name of the tool. The model may name a tool that the request does not have.
	Name string `json:"name"`
	// Arguments is the text that the model wrote as the arguments. The text should be a JSON object, but it may be any text.
	Arguments string `json:"arguments"`
	// Opaque is data of the provider that made the call. The tool does not get it.
	Opaque Opaque `json:"opaque,omitzero"`
}

// IsObject reports whether a text is a JSON object, as the arguments of a tool call must be.
func IsObject(text string) bool {
	return strings.HasPrefix(strings.TrimSpace(text), "{") && json.Valid([]byte(text))
}

// ToolSpec describes a tool to a model.
type ToolSpec struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Parameters is the JSON schema of the arguments. The schema must describe an object.
	Parameters json.RawMessage `json:"parameters,omitempty"`
}
