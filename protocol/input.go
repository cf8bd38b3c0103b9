package protocol

import (
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/tool"
)

// LoadAgentInput names the agent whose definition is to be read.
type LoadAgentInput struct {
	Effect
	Agent string `json:"agent"`
}

// CallModelInput says how the activity gets the request for the model. It does not contain the request: with it, the
// history would grow with the square of the conversation. The activity checks the request against its key, which is the
// activity's ID.
type CallModelInput struct {
	Effect
	// Count is the number of messages in the request, without the system message.
	Count int `json:"count"`
	// Origin is set if there is a Delta. With both, the activity need not query the workflow for the first request of a
	// turn.
	Origin *agent.ModelIdentity `json:"origin,omitempty"`
	// Delta are the user's messages at the end of the request, as many as are small.
	Delta []llm.Message `json:"delta,omitempty"`
	// Reasoning says that later requests send back the model's reasoning.
	Reasoning bool `json:"reasoning,omitempty"`
	// Compact says that the request asks for a summary.
	Compact bool `json:"compact,omitempty"`
}

// CallToolInput is the input of one tool call.
type CallToolInput struct {
	Effect
	CallID     string      `json:"call_id"`
	Ref        string      `json:"ref"`
	ToolEffect tool.Effect `json:"effect,omitempty"`
	Arguments  string      `json:"arguments"`
	// ResultBytes is the size to which the result is cut in history; 0 means [DefaultResultBytes].
	ResultBytes int `json:"result_bytes,omitempty"`
	// Batch is the number of calls in the model's reply that may run. Their results share the history of one run. 0
	// means 1.
	Batch int `json:"batch,omitempty"`
	// ShownBytes is the size to which the transcript cuts the result; 0 means ResultBytes.
	ShownBytes int `json:"shown_bytes,omitempty"`
}

// AwaitAgentInput names a sub-agent that was started before and whose end the activity awaits.
type AwaitAgentInput struct {
	ID  string    `json:"id"`
	Key agent.Key `json:"key"`
}

// LookAgentInput names a sub-agent whose progress the activity looks at.
type LookAgentInput struct {
	ID string `json:"id"`
}

// RecallCallInput names a call for a sub-agent. The activity searches the earlier runs for its result.
type RecallCallInput struct {
	Effect
	// Call has no arguments, because they may be long, and no result.
	Call agent.Call `json:"call"`
}

// ReadAgentInput asks for a page of the state of an agent. The first page is 0.
type ReadAgentInput struct {
	From agent.RunRef `json:"from"`
	Page int          `json:"page"`
}

// FindMessagesInput asks for a page of messages of other runs.
type FindMessagesInput struct {
	// Skip is the number of messages in earlier pages.
	Skip int `json:"skip,omitempty"`
}

// FoundMessages is a page of messages that other runs of the agent took. The asking run may already have some of them.
type FoundMessages struct {
	// Run is the end of the ID of the run that asked: see [RunSuffix].
	Run      string               `json:"run"`
	Messages []agent.InboxMessage `json:"messages,omitempty"`
	// Order lists the IDs of the messages of all pages, and of those that the asking run received, in the order in
	// which they were sent. Only the first page has it. It may lack the last IDs.
	Order []string `json:"order,omitempty"`
	// Times are the times at which a run first took the messages in Order, in Unix milliseconds; 0 if unknown.
	Times []int64 `json:"times,omitempty"`
	More  bool    `json:"more,omitempty"`
}
