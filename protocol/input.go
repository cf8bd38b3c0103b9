package protocol

import (
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/tool"
)

// LoadAgentInput names the agent whose definition is read.
type LoadAgentInput struct {
	Effect
	Agent string `json:"agent"`
}

// CallModelInput tells where the request is to be had. It does not hold it, so that history
// grows with the conversation and not with its square. Whether it is the right one, the key tells, which is
// the activity's ID.
type CallModelInput struct {
	Effect
	// Count is the number of messages sent, without the system message.
	Count int `json:"count"`
	// Origin spares the first request of a turn, together with Delta, the question to the workflow.
	Origin *agent.ModelIdentity `json:"origin,omitempty"`
	// Delta are the user's messages at the end of the request, where they are small.
	Delta []llm.Message `json:"delta,omitempty"`
	// Reasoning says that later requests send back what the model thought.
	Reasoning bool `json:"reasoning,omitempty"`
	// Compact says that the request is for a summary.
	Compact bool `json:"compact,omitempty"`
}

// CallToolInput is one call of a tool.
type CallToolInput struct {
	Effect
	CallID     string      `json:"call_id"`
	Ref        string      `json:"ref"`
	ToolEffect tool.Effect `json:"effect,omitempty"`
	Arguments  string      `json:"arguments"`
	// ResultBytes is the size to which the result is cut; 0 means [DefaultResultBytes].
	ResultBytes int `json:"result_bytes,omitempty"`
	// Batch is the number of calls that the reply of the model asked for: their results share one run's history. 0 means 1.
	Batch int `json:"batch,omitempty"`
	// ShownBytes is the size to which the transcript cuts the result; 0 means ResultBytes.
	ShownBytes int `json:"shown_bytes,omitempty"`
}

// AwaitAgentInput names a sub-agent that was found rather than started.
type AwaitAgentInput struct {
	ID  string    `json:"id"`
	Key agent.Key `json:"key"`
}

// LookAgentInput names a sub-agent that is waited for.
type LookAgentInput struct {
	ID string `json:"id"`
}

// RecallCallInput names a call for a sub-agent whose result is looked for in the earlier runs.
type RecallCallInput struct {
	Effect
	// Call has no arguments: they may be long.
	Call agent.Call `json:"call"`
}

// ReadAgentInput asks for a page of the state of an agent.
type ReadAgentInput struct {
	From agent.RunRef `json:"from"`
	Page int          `json:"page"`
}

// FindMessagesInput asks for a page of messages.
type FindMessagesInput struct {
	// Skip is the number of messages that earlier pages had.
	Skip int `json:"skip,omitempty"`
	// From is the ID of the run that the asking run resumed; empty if it resumed none.
	From string `json:"from,omitempty"`
}

// FoundMessages is a page of messages that other runs of the agent took. A run may have those already.
type FoundMessages struct {
	// Run is the end of the ID of the run that asked: see [RunSuffix].
	Run      string               `json:"run"`
	Messages []agent.InboxMessage `json:"messages,omitempty"`
	// Order lists the IDs of the messages of all pages and of those that the run received, in the order in which they were sent. Only
	// the first page has it. It may lack the last IDs.
	Order []string `json:"order,omitempty"`
	// Times are the times at which a run first took the messages in Order, in Unix milliseconds; 0 if unknown.
	Times []int64 `json:"times,omitempty"`
	More  bool    `json:"more,omitempty"`
}
