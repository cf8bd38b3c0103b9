package protocol

import (
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
)

// RequestQuery is the query by which an activity reads a request for the model from its own workflow. Its name never
// changes, because workers of two versions use it with each other.
const RequestQuery = "request"

// RequestInput is the argument of a [RequestQuery]. It asks for a part of a request for the model.
type RequestInput struct {
	// Head asks for the request prefix instead of messages.
	Head bool `json:"head,omitempty"`
	// Compact asks for a part of the request for a summary.
	Compact bool `json:"compact,omitempty"`
	// From is the index of the first message to return. Count is the index after the last message to return. The page
	// may end earlier.
	From  int `json:"from"`
	Count int `json:"count"`
}

// RequestPage is a part of a request: the request prefix, or as many messages as fit into a page.
type RequestPage struct {
	// Origin is the part of the request's key that does not depend on the messages.
	Origin   agent.ModelIdentity `json:"origin"`
	Head     *llm.Request        `json:"head,omitempty"`
	Messages []llm.Message       `json:"messages,omitempty"`
}

// MaxPageBytes is the largest size of the messages in a page. A larger message gets a page of its own. Temporal warns
// about payloads over 512 KB.
const MaxPageBytes = 450_000
