package protocol

import (
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
)

// RequestQuery is the query by which an activity reads the request for the model from the workflow that scheduled the
// activity. The name never changes, because the workflow and the activity may run on workers of different versions.
const RequestQuery = "request"

// RequestInput is the argument of a [RequestQuery]. It asks for a part of a request for the model: the request
// prefix, or some of the messages.
type RequestInput struct {
	// Head asks for the request prefix instead of messages: see [agent.Definition.RequestPrefix].
	Head bool `json:"head,omitempty"`
	// Compact asks for a part of another request: the one that asks for a summary of the conversation.
	Compact bool `json:"compact,omitempty"`
	// From and Count ask for messages by their index in the request. From is the index of the first message. Count is
	// the index of the last message plus 1. The page ends earlier if the messages do not fit into it.
	From  int `json:"from"`
	Count int `json:"count"`
}

// RequestPage is the result of a [RequestQuery]. It contains either the request prefix, in the field Head, or as many
// of the messages as fit into a page.
type RequestPage struct {
	// Origin is the part of the request's key that does not depend on the messages.
	Origin   agent.ModelIdentity `json:"origin"`
	Head     *llm.Request        `json:"head,omitempty"`
	Messages []llm.Message       `json:"messages,omitempty"`
}

// MaxPageBytes is the largest size in bytes of all messages in the result of a query. A single larger message gets a
// page of its own. Temporal warns about payloads over 512 KB.
const MaxPageBytes = 450_000
