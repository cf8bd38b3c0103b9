package protocol

import (
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
)

// LoadAgentInput is the input of the activity [LoadAgent]. The field Agent is the name of the definition to read.
type LoadAgentInput struct {
	Effect
	Agent string `json:"agent"`
}

// CallModelInput is the input of the activity [CallModel]. It says how the activity gets the request for the model.
// The request itself is not in the input. Otherwise every model call would add the whole conversation to the history
// again. The activity's ID is the key of the request, so the activity can check that it has the right request.
type CallModelInput struct {
	Effect
	// Count is the number of messages in the request, without the system message.
	Count int `json:"count"`
	// Origin is the part of the request's key that does not depend on the messages. It is set if Delta is not empty.
	// With Origin and Delta, the activity need not query the workflow for the first request of a turn.
	Origin *agent.ModelIdentity `json:"origin,omitempty"`
	// Delta holds the messages at the end of the request that come from the user. If they exceed a small limit in
	// bytes, Delta holds only the last ones that fit.
	Delta []llm.Message `json:"delta,omitempty"`
	// Reasoning says that later requests include the model's reasoning.
	Reasoning bool `json:"reasoning,omitempty"`
	// Compact says that the request asks for a summary of the conversation.
	Compact bool `json:"compact,omitempty"`
}

// CallToolInput is the input of the activity [CallTool], which makes one tool call.
type CallToolInput struct {
	Effect
	// CallID is the ID that the model gave to the call.
	CallID string `json:"call_id"`
	// Ref is the name by which the worker finds the tool.
	Ref string `json:"ref"`
	// ToolEffect says whether the tool may run twice: see the field Effect of [agent.Tool].
	ToolEffect string `json:"effect,omitempty"`
	// Arguments are the arguments of the call, as a JSON text.
	Arguments string `json:"arguments"`
	// ResultBytes is the size in bytes to which the result is cut in history; 0 means [DefaultResultBytes].
	ResultBytes int `json:"result_bytes,omitempty"`
	// Batch is the number of calls in the batch to which this call belongs; 0 means 1. The batch consists of the
	// calls of the same model reply that may run. Their results share a limit in history: see [Stored].
	Batch int `json:"batch,omitempty"`
	// ShownBytes is the size in bytes to which the transcript cuts the result; 0 means ResultBytes.
	ShownBytes int `json:"shown_bytes,omitempty"`
}

// AwaitAgentInput is the input of the activity [AwaitAgent], which waits for the end of a sub-agent that was started
// earlier. ID is the agent ID of the sub-agent. Key is its key, by which the activity checks that it has found the
// right workflow.
type AwaitAgentInput struct {
	ID  string    `json:"id"`
	Key agent.Key `json:"key"`
}

// LookAgentInput is the input of the activity [LookAgent], which reads the progress of a sub-agent. ID is the agent
// ID of the sub-agent.
type LookAgentInput struct {
	ID string `json:"id"`
}

// RecallCallInput is the input of the activity [RecallCall]. The activity searches earlier runs of the agent for the
// result of a call for a sub-agent.
type RecallCallInput struct {
	Effect
	// Call is the call without its result and without its arguments. The arguments are left out because they may be long.
	Call agent.Call `json:"call"`
}

// ReadAgentInput is the input of the activity [ReadAgent]. It asks for one page of the state of an agent. From names
// the run whose history contains this state. Page is the number of the page, from 0.
type ReadAgentInput struct {
	From agent.RunRef `json:"from"`
	Page int          `json:"page"`
}

// FindMessagesInput is the input of the activity [FindMessages]. It asks for one page of the messages that other runs
// of the agent received.
type FindMessagesInput struct {
	// Skip is the number of messages in earlier pages.
	Skip int `json:"skip,omitempty"`
}

// FoundMessages is the result of the activity [FindMessages]: a page of the messages that other runs of the agent
// received. The searching run, which started the activity, puts those that it lacks into its inbox.
type FoundMessages struct {
	// Run is the end of the ID of the searching run: see [RunSuffix].
	Run      string               `json:"run"`
	Messages []agent.InboxMessage `json:"messages,omitempty"`
	// Order lists the IDs of all messages that the runs of the agent received; the searching run is one of these
	// runs. The message that was received first comes first. The searching run puts its inbox into this order. Only
	// the first page has Order. If the list would be too long, the newest messages are missing.
	Order []string `json:"order,omitempty"`
	// Times has one time for each ID in Order: the time at which a run first received the message, in Unix
	// milliseconds; 0 if unknown.
	Times []int64 `json:"times,omitempty"`
	// More says that there is another page.
	More bool `json:"more,omitempty"`
}
