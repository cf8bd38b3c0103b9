package protocol

import (
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
)

// RequestQuery is the query by which an activity reads the request for the model from its workflow. The name never changes,
// because the workflow and the activity may run on workers of different versions.
const RequestQuery = "request"

// RequestInput is the argument of a [RequestQuery]. It asks for a part of a request for the model: either some of the
// messages, or everything before the messages.
type RequestInput struct {
	// Head asks for everything before the messages, which is the request prefix: see [agent.Definition.RequestPrefix].
	Head bool `json:"head,omitempty"`
	// Compact selects the request that asks the model for a summary of the conversation.
	Compact bool `json:"compact,omitempty"`
	// From is the index of the first message to return. Indexes count from 0 in the request.
	From int `json:"from"`
	// Count is the index after the last message to return. The page ends earlier if the messages do not fit into it.
	Count int `json:"count"`
}

// RequestPage is the result of a [RequestQuery]. It contains either the request prefix in Head, or as many of the messages as
// fit into a page.
type RequestPage struct {
	// Origin is the part of the request's key that does not depend on the messages. The key is a hash of the request: see
	// [agent.Key].
	Origin agent.ModelIdentity `json:"origin"`
	// Head is the request prefix; nil if the query asked for messages.
	Head *llm.Request `json:"head,omitempty"`
	// Messages are the messages; empty if the query asked for the request prefix.
	Messages []llm.Message `json:"messages,omitempty"`
}

// MaxPageBytes is the maximum size, in bytes, of all messages in one query result. A single message that is larger gets a
// page of its own. Temporal warns about payloads over 512 KB.
const MaxPageBytes = 450_000
