package protocol

import "github.com/reagent-dev/reagent/agent"

// These are the queries that clients send to an agent. Activities use one more query: [RequestQuery].
const (
	// TranscriptQuery takes a [TranscriptInput] and returns a [TranscriptPage].
	TranscriptQuery = "transcript"
	// StateQuery returns a [StateView].
	StateQuery = "state"
	// PendingQuery returns a slice of [agent.Call]: the tool calls that have no result yet.
	PendingQuery = "pending"
)

// TranscriptInput is the argument of a [TranscriptQuery]. It asks for a page of the transcript, which is the list of
// the agent's messages.
type TranscriptInput struct {
	// From is the index, in the whole transcript, of the first message of the page. Indexes begin at 0.
	From int `json:"from"`
	// Limit is the largest number of messages in the page. Zero means as many as fit into [MaxPageBytes].
	Limit int `json:"limit,omitempty"`
}

// TranscriptPage is the result of a [TranscriptQuery]: a page of the transcript, with the status and the inbox of the
// agent.
type TranscriptPage struct {
	Messages []agent.Message `json:"messages,omitempty"`
	// Count is the number of messages in the whole transcript. First is the index of the first message that the
	// agent's state still holds. The messages before First were summarised; the histories of earlier runs have them.
	Count int `json:"count"`
	First int `json:"first,omitempty"`
	// Status is "running", "waiting" or "held". For an agent that has ended it is "completed", "failed" or "cancelled".
	Status agent.Status `json:"status"`
	// Inbox holds the messages that wait in the inbox, shortened for people. The whole messages could exceed the size
	// limit of a query result.
	Inbox []agent.InboxMessage `json:"inbox,omitempty"`
	// Reading says that the agent is still reading its state from an earlier run. The other fields are then empty,
	// except Status.
	Reading bool `json:"reading,omitempty"`
}

// StateView is the result of a [StateQuery]. It describes an agent without its transcript.
type StateView struct {
	Agent  string       `json:"agent"`
	Mode   agent.Mode   `json:"mode"`
	Status agent.Status `json:"status"`
	// WaitsFor says what the agent waits for. A worker of an earlier version leaves it empty.
	WaitsFor agent.WaitsFor `json:"waits_for,omitempty"`
	Turn     agent.Turn     `json:"turn"`
	// Messages is the number of messages in the transcript. Inbox is the number of messages that wait in the inbox.
	Messages int `json:"messages"`
	Inbox    int `json:"inbox"`
	// Run and Entry are for the sender of a steering message, which is a message that enters the running turn. The
	// sender copies them into the fields Run and After of the [agent.InboxMessage]. Run is the end of the run's ID:
	// see [RunSuffix]. Entry is the position in the transcript at which the message would enter: see
	// [agent.State.Entry].
	Run     string         `json:"run,omitempty"`
	Entry   int            `json:"entry,omitempty"`
	Usage   agent.Usage    `json:"usage"`
	Held    *agent.Held    `json:"held,omitempty"`
	Outcome *agent.Outcome `json:"outcome,omitempty"`
	// Children are the sub-agents that the state holds: all that are running, and the newest that have ended. ChildCount
	// is the number of all sub-agents that the agent has asked for.
	Children   []agent.Child `json:"children,omitempty"`
	ChildCount int           `json:"child_count,omitempty"`
	Answer     string        `json:"answer,omitempty"`
	// Reloads counts the reloads of the definition. Reloading is true from the request for a reload to its end. ReloadFailure is
	// the reason why the last reload failed; the agent then keeps its earlier definition.
	Reloads       int    `json:"reloads,omitempty"`
	Reloading     bool   `json:"reloading,omitempty"`
	ReloadFailure string `json:"reload_failure,omitempty"`
	// Reading says that the agent is still reading its state from an earlier run. The other fields are then empty,
	// except Agent, Mode and Status.
	Reading bool `json:"reading,omitempty"`
}
