package protocol

import (
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
)

// LoadAgentInput names the agent whose definition is to be read.
type LoadAgentInput struct {
	Effect
	Agent string `json:"agent"`
}

// CallModelInput says how the activity gets the request for the model. It does not contain the request, because the
// history would then grow with the square of the conversation. The activity checks the request against its key, which
// is the activity's ID.
type CallModelInput struct {
	Effect
	// Count is the number of messages in the request, without the system message.
	Count int `json:"count"`
	// Origin is the part of the request's key that does not depend on the messages. It is set if Delta is not empty.
	// With Origin and Delta, the activity need not query the workflow for the first request of a turn.
	Origin *agent.ModelIdentity `json:"origin,omitempty"`
	// Delta holds the user's messages that come after all other messages of the request. If they exceed a small limit in
	// bytes, Delta holds only the last ones that fit.
	Delta []llm.Message `json:"delta,omitempty"`
	// Reasoning says that later requests include the model's reasoning.
	Reasoning bool `json:"reasoning,omitempty"`
	// Compact says that the request asks for a summary.
	Compact bool `json:"compact,omitempty"`
}

// CallToolInput is the input of one tool call.
type CallToolInput struct {
	Effect
	CallID     string `json:"call_id"`
	Ref        string `json:"ref"`
	ToolEffect string `json:"effect,omitempty"`
	Arguments  string `json:"arguments"`
	// ResultBytes is the size to which the result is cut in history; 0 means [DefaultResultBytes].
	ResultBytes int `json:"result_bytes,omitempty"`
	// Batch is the size of the batch to which this call belongs: the number of calls in the same model reply that may
	// run. The results of a batch share the history of one run. 0 means 1.
	Batch int `json:"batch,omitempty"`
	// ShownBytes is the size to which the transcript cuts the result; 0 means ResultBytes.
	ShownBytes int `json:"shown_bytes,omitempty"`
}

// AwaitAgentInput names a sub-agent that was started earlier. The activity waits for its end.
type AwaitAgentInput struct {
	ID  string    `json:"id"`
	Key agent.Key `json:"key"`
}

// LookAgentInput names a sub-agent. The activity reads the sub-agent's progress.
type LookAgentInput struct {
	ID string `json:"id"`
}

// RecallCallInput names a call for a sub-agent. The activity searches the earlier runs for the result of the call.
type RecallCallInput struct {
	Effect
	// Call is the call without its result and without its arguments. The arguments are left out because they may be long.
	Call agent.Call `json:"call"`
}

// ReadAgentInput asks for a page of the state of an agent. The first page is 0.
type ReadAgentInput struct {
	From agent.RunRef `json:"from"`
	Page int          `json:"page"`
}

// FindMessagesInput asks for one page of the messages that other runs of the agent took.
type FindMessagesInput struct {
	// Skip is the number of messages in earlier pages.
	Skip int `json:"skip,omitempty"`
}

// FoundMessages is a page of messages that other runs of the agent took. The searching run may already have some of
// them.
type FoundMessages struct {
	// Run is the [RunSuffix] of the searching run. The searching run is the one that started the activity.
	Run      string               `json:"run"`
	Messages []agent.InboxMessage `json:"messages,omitempty"`
	// Order lists the IDs of the messages of all pages, and of the messages that the searching run has received. They
	// have the order in which runs first took them. Only the first page has Order. If the list is too long, the last
	// IDs are missing.
	Order []string `json:"order,omitempty"`
	// Times has one time for each ID in Order: the time at which a run first took the message, in Unix milliseconds; 0
	// if unknown.
	Times []int64 `json:"times,omitempty"`
	More  bool    `json:"more,omitempty"`
}
