package protocol

import (
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
)

// RequestQuery is the query by which an activity reads from its own workflow
// what is to be sent. Its name is fixed: workers of two versions share it.
const RequestQuery = "request"

// RequestInput asks for a part of what is to be sent.
type RequestInput struct {
	// Head asks for everything but the messages.
	Head bool `json:"head,omitempty"`
	// Compact asks for what the request for a summary sends.
	Compact bool `json:"compact,omitempty"`
	// From is the first message asked for, Count the end of the range.
	From  int `json:"from"`
	Count int `json:"count"`
}

// RequestPage is a part of what is to be sent: as many messages as fit into a page.
type RequestPage struct {
	// Origin is what the request's key is made of, beside its messages.
	Origin   agent.ModelIdentity `json:"origin"`
	Head     *llm.Request        `json:"head,omitempty"`
	Messages []llm.Message       `json:"messages,omitempty"`
}

// MaxPageBytes bounds the messages of a page; one message may be larger alone. The
// server warns of payloads over 512 KB.
const MaxPageBytes = 450_000
