package protocol

import "github.com/reagent-dev/reagent/agent"

// AgentWorkflow is the workflow type of an agent. The input of the workflow is an [agent.Start], and its result is a
// [Result].
const AgentWorkflow = "Agent"

// These are the names of the memo fields of an agent.
const (
	MemoAgent       = "reagent_agent"       // the definition's name
	MemoIncarnation = "reagent_incarnation" // distinguishes agents with the same ID: see [agent.Start]
	MemoTask        = "reagent_task"        // the beginning of the first message
	MemoMetadata    = "reagent_metadata"    // the metadata of the start, an object; left out if there is none
	// MemoKey is the key of a sub-agent: see [agent.Key]. A parent recognises its sub-agent by this field, because the sub-agent's workflow ID
	// contains only a part of the key.
	MemoKey = "reagent_key"
)

// Refused is the type of the application error with which the workflow refuses an update or its own start input.
const Refused = "Refused"

// Moved is the type of the application error for a request that comes too late, because the agent has made progress since the sender
// described it (see [StateView]). The sender has to describe the agent again, and send the request again. There are two such requests:
//   - A steering message, which enters the running turn, if [agent.QueuedMessage.After] differs from [agent.State.Entry].
//   - An interrupt or a question aside, if the agent has begun another run, or is still reading its state.
const Moved = "Moved"

// AwaitsAnswer is the type of the application error for a message without images that comes while a call waits for a person's answer: see
// [agent.State.AsksUser]. The details of the error are the key of the call. The sender sends the text as the answer, by a [DecideUpdate].
const AwaitsAnswer = "AwaitsAnswer"

// Result is the result of the workflow of an agent: the answer, and what the agent has used.
type Result struct {
	// Answer is the agent's last answer. If the field AnswerBytes of [agent.Start] is not 0, the answer is cut to at most
	// that size.
	Answer string `json:"answer"`
	// FinishReason is the provider's finish reason if the provider may have cut the answer. For example, "length" means that the answer
	// reached the model's output limit. It is empty for a whole answer.
	FinishReason string `json:"finish_reason,omitempty"`
	// Stopped names the limit that ended the last turn: "model_calls", "tokens", "cost" or "time". It is empty if no limit
	// ended the turn.
	Stopped string `json:"stopped,omitempty"`
	// Refusal says that the last message, or the answer to it, was refused; nil if not. Answer is then no answer to it: see
	// [agent.State.Refusal].
	Refusal *agent.RefusedText `json:"refusal,omitempty"`
	// Usage counts what the agent itself has used, such as tokens and calls.
	Usage agent.Usage `json:"usage"`
	// Spent counts the tokens and the cost of the agent and its sub-agents.
	Spent agent.Spending `json:"spent"`
}
