package protocol

import "github.com/reagent-dev/reagent/agent"

// These are the queries that clients send to an agent. Activities use one more query: [RequestQuery].
const (
	// TranscriptQuery takes a [TranscriptInput] and returns a [TranscriptPage].
	TranscriptQuery = "transcript"
	// StateQuery returns a [StateView].
	StateQuery = "state"
	// PendingQuery returns a slice of [agent.Call]: the tool calls that have no result yet, and the
	// texts about which a person is asked: see [agent.State.Open].
	PendingQuery = "pending"
)

// TranscriptInput is the argument of a [TranscriptQuery]. It asks for one page of the transcript, the list of the agent's
// messages.
type TranscriptInput struct {
	// From is the index of the first message of the page. Indexes count from 0 in the whole transcript.
	From int `json:"from"`
	// Limit is the maximum number of messages in the page. Zero means as many as fit into [MaxPageBytes].
	Limit int `json:"limit,omitempty"`
}

// TranscriptPage is the result of a [TranscriptQuery]. It contains a page of the transcript, and the status and the queue of
// the agent.
type TranscriptPage struct {
	// Messages are the messages of the page.
	Messages []agent.Message `json:"messages,omitempty"`
	// Count is the number of messages in the whole transcript.
	Count int `json:"count"`
	// First is the index of the first message that the agent's state still holds. A summary has replaced the messages before
	// First. Only the histories of earlier runs have those messages.
	First int `json:"first,omitempty"`
	// Status is "running", "waiting" or "held". After the end of the agent, it is "completed", "failed" or "cancelled".
	Status agent.Status `json:"status"`
	// Queue holds the messages that wait in the queue. They are shortened, because the whole messages could exceed the size
	// limit of a query result.
	Queue []agent.QueuedMessage `json:"queue,omitempty"`
	// Reading says that the agent is still reading its state from an earlier run. All other fields except Status are then
	// empty.
	Reading bool `json:"reading,omitempty"`
}

// StateView is the result of a [StateQuery]. It describes an agent without its transcript.
type StateView struct {
	Agent  string       `json:"agent"`
	Mode   agent.Mode   `json:"mode"`
	Status agent.Status `json:"status"`
	// WaitsFor says what the agent waits for. It is empty if the agent works or has ended, or if the worker has an earlier version.
	WaitsFor agent.WaitsFor `json:"waits_for,omitempty"`
	Turn     agent.Turn     `json:"turn"`
	// Messages is the number of messages in the transcript.
	Messages int `json:"messages"`
	// Queue is the number of messages that wait in the queue.
	Queue int `json:"queue"`
	// Run is the end of the ID of the agent's run: see [RunSuffix]. The sender of a steering message, which enters the
	// running turn, copies Run into [agent.QueuedMessage.Run].
	Run string `json:"run,omitempty"`
	// Entry is the position in the transcript at which a steering message would enter: see [agent.State.Entry]. The sender
	// copies Entry into [agent.QueuedMessage.After].
	Entry int `json:"entry,omitempty"`
	// Usage counts what the agent itself has used, such as tokens and calls.
	Usage   agent.Usage    `json:"usage"`
	Hold    *agent.Hold    `json:"hold,omitempty"`
	Outcome *agent.Outcome `json:"outcome,omitempty"`
	// Children are the sub-agents that the state still has: all that are running, the newest that have ended, and older ones to which a
	// call or a message still refers. [agent.State.Drop] removes the others.
	Children []agent.Child `json:"children,omitempty"`
	// ChildCount is the number of all sub-agents that the agent has asked for.
	ChildCount int `json:"child_count,omitempty"`
	// Answer is the agent's last answer. A long answer is cut.
	Answer string `json:"answer,omitempty"`
	// FinishReason is the provider's finish reason if the provider may have cut the answer. For example, "length" means that the answer
	// reached the model's output limit. It is empty for a whole answer.
	FinishReason string `json:"finish_reason,omitempty"`
	// Digest tells the agent's definition from others: see [agent.Definition.Digest]. It is empty if the agent has no definition yet, or if
	// the worker has an earlier version.
	Digest string `json:"digest,omitempty"`
	// Refused are the newest texts that guardrails or people have refused.
	Refused []agent.RefusedText `json:"refused,omitempty"`
	// Refusal is the refusal because of which the agent has not answered its last message: see [agent.State.Refusal].
	Refusal *agent.RefusedText `json:"refusal,omitempty"`
	// Permissions let calls run without a further decision.
	Permissions []agent.Permission `json:"permissions,omitempty"`
	// Reloads counts the reloads of the definition, including those that failed.
	Reloads int `json:"reloads,omitempty"`
	// Reloading says that the agent still has to read its definition again.
	Reloading bool `json:"reloading,omitempty"`
	// ReloadFailure is the reason why the last reload failed; empty if it has not failed. After a failure, the agent keeps its earlier
	// definition.
	ReloadFailure string `json:"reload_failure,omitempty"`
	// Reading says that the agent is still reading its state from an earlier run. All other fields except Agent, Mode and
	// Status are then empty.
	Reading bool `json:"reading,omitempty"`
}
