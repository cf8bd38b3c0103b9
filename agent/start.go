package agent

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
)

// Start is the input of an agent's workflow. A client, a schedule or a parent workflow starts the agent with this
// input. Each Temporal execution of the workflow is a run of the agent. A reset, a continue-as-new and a resume begin
// a new run of the same agent.
type Start struct {
	// Agent is the name of the agent's definition. It is required.
	Agent string `json:"agent"`
	// Mode says what the agent does after an answer. The default is [Task].
	Mode Mode `json:"mode,omitempty"`
	// KeyVersion is the version of the agent's keys and texts. It never changes for this agent. Zero means the constant
	// [KeyVersion] of the program that encodes the start. In JSON, a missing version means 1 for every worker, whatever its version.
	KeyVersion int `json:"key_version,omitempty"`
	// Incarnation distinguishes this agent from earlier agents with the same ID: see [Identity]. A client sets it to
	// a new UUID. If it is empty, the driver (see [Step]) uses the ID of the agent's first run. A reset does not
	// change this ID.
	Incarnation string `json:"incarnation,omitempty"`
	// Message is the first message. It is required in task mode, unless this start continues an earlier run.
	Message *QueuedMessage `json:"message,omitempty"`
	// Next are further messages. The agent takes them one after another, each when it has answered the one before. An agent in task mode
	// ends when it has answered the last one.
	Next []QueuedMessage `json:"next,omitempty"`

	// Metadata is what the program that starts the agent knows about it. A sub-agent gets the metadata of the turn that asks for it.
	Metadata Metadata `json:"metadata,omitempty"`
	// Searchable are the names in Metadata that are also search attributes, of the type Keyword, in the agent's namespace. Sub-agents get
	// the same.
	Searchable []string `json:"searchable,omitempty"`

	// Overrides change the definition for this agent. Sub-agents do not get them.
	Overrides Overrides `json:"overrides,omitzero"`

	// NoUIContent keeps what people, models and tools say out of the texts that Temporal shows in lists and in the Web UI: summaries, details
	// and the memo. Sub-agents get the same.
	NoUIContent bool `json:"no_ui_content,omitempty"`

	// Key is the key by which the parent knows this sub-agent. It is set only for a sub-agent.
	Key Key `json:"key,omitempty"`
	// Parent is the ID of the parent. It is set only for a sub-agent.
	Parent string `json:"parent,omitempty"`
	// Depth is the number of levels below the root agent: 1 for a sub-agent of the root agent.
	Depth int `json:"depth,omitempty"`
	// MaxDepth is the root agent's limit on the levels of sub-agents: see [Limits].Depth. It is set only for a
	// sub-agent.
	MaxDepth *int `json:"max_depth,omitempty"`
	// Grant is what a sub-agent may spend.
	Grant Grant `json:"grant,omitzero"`

	// AnswerBytes is the size, in bytes, to which a sub-agent cuts a longer answer. It is the size to which the
	// parent cuts tool results. 0 means that the answer is not cut.
	AnswerBytes int `json:"answer_bytes,omitempty"`
	// Batch is the number of calls that the parent runs together: see [State.BatchSize]. The call for this sub-agent
	// is one of them. The history of one run of the parent must hold all their results. Therefore the answer is cut to
	// a smaller size if Batch is large. 0 means 1.
	Batch int `json:"batch,omitempty"`

	// OutputSchema is a JSON schema that answers must fit. Empty means the schema of the definition.
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`

	// State is the state of the run that continued as new into this run. It is compressed if it is long.
	State PackedState `json:"state,omitempty"`
	// From is the run whose history contains the state with which this run begins.
	From *RunRef `json:"from,omitempty"`
	// BaseRunID is the ID of the base run, an earlier run whose results this run uses. It is set if the agent has
	// ever been reset or resumed. Before this run makes a model call or a tool call, it looks for the result in the
	// history of the base run and of other earlier runs.
	BaseRunID string `json:"base_run_id,omitempty"`
}

// RunRef names a run of an agent, and says how a new run goes on from the named run. A run is one Temporal execution
// of the agent's workflow: see [Start].
type RunRef struct {
	// ID is Temporal's workflow ID.
	ID string `json:"id"`
	// RunID is Temporal's run ID.
	RunID string `json:"run_id"`
	// Events is the number of history events to read. 0 means all events of a closed run.
	Events int64 `json:"events,omitempty"`
	// Fork reports whether the new run belongs to a new agent, which begins with messages of the named run.
	Fork bool `json:"fork,omitempty"`
	// At is the number of messages with which a fork begins.
	At int `json:"at,omitempty"`
	// Resume reports whether the new run continues an agent that has ended. If Fork and Resume are both false, the
	// new run continues the named run directly, after a continue-as-new.
	Resume bool `json:"resume,omitempty"`
	// Reload reports whether a resumed agent or a fork reads its definition again. A fork then has the overrides of its own start.
	Reload bool `json:"reload,omitempty"`
}

// start is a [Start] without its methods, so that MarshalJSON and UnmarshalJSON do not call themselves.
type start Start

// MarshalJSON implements [json.Marshaler]. A program that leaves KeyVersion out means the current one.
func (in Start) MarshalJSON() ([]byte, error) {
	in.KeyVersion = cmp.Or(in.KeyVersion, KeyVersion)
	return json.Marshal(start(in))
}

// UnmarshalJSON implements [json.Unmarshaler]. After it, KeyVersion is set, so that a later run of the agent gets the same
// version.
func (in *Start) UnmarshalJSON(data []byte) error {
	if err := json.Unmarshal(data, (*start)(in)); err != nil {
		return err
	}
	in.KeyVersion = cmp.Or(in.KeyVersion, 1)
	return nil
}

// Messages returns the messages with which the agent starts, in their order: the first one and those in Next.
func (in Start) Messages() []QueuedMessage {
	if in.Message == nil {
		return in.Next
	}
	return append([]QueuedMessage{*in.Message}, in.Next...)
}

// Continues reports whether the run begins with the state of an earlier run. If not, it begins with an empty transcript.
func (in Start) Continues() bool { return in.State != nil || in.From != nil }

// Identity returns the part that all keys of the agent have in common. It depends only on the start and on the
// agent's ID. Therefore code of a later version makes the same keys in a replay.
func (in Start) Identity(agentID string) Identity {
	return Identity{KeyVersion: cmp.Or(in.KeyVersion, KeyVersion), AgentID: agentID, Incarnation: in.Incarnation}
}

// Check returns an error if the start is invalid. Check also runs in a replay. Therefore it never refuses a start
// that an earlier version accepted. Before you send a start, also call [CheckMessage] for the message of the start.
// That check is stricter.
func (in Start) Check() error {
	switch {
	case in.Agent == "":
		return errors.New("start: agent is not set; set it to the name of a definition")
	case in.Mode != "" && in.Mode != Task && in.Mode != Chat:
		return fmt.Errorf("start: mode is %q; it must be %q or %q", in.Mode, Task, Chat)
	case in.Message == nil && in.Mode != Chat && !in.Continues():
		return errors.New("start: message is not set, but an agent in task mode needs a message; set message, or set mode to \"chat\"")
	}
	if len(in.Next) >= MaxQueue {
		return fmt.Errorf("start: next has %d messages; the limit is %d: send the others when the agent has taken some", len(in.Next), MaxQueue-1)
	}
	for _, m := range in.Messages() {
		if err := m.check(); err != nil {
			return fmt.Errorf("start: %w", err)
		}
	}
	if err := in.CheckWishes(); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	if len(in.OutputSchema) > 0 && !unambiguousObject(string(in.OutputSchema)) {
		return errors.New("start: output_schema is not a JSON object, or parsers may read it differently, for example because two members have the same name; set it to a JSON schema, such as {\"type\": \"object\"}")
	}
	return nil
}

// CheckWishes returns an error if the metadata or the overrides are invalid, or if a name in Searchable is not in the metadata.
func (in Start) CheckWishes() error {
	for _, name := range in.Searchable {
		if _, ok := in.Metadata[name]; !ok {
			return fmt.Errorf("the field searchable has %q, which is not in the metadata; add it there, or remove it", name)
		}
	}
	return cmp.Or(in.Metadata.Check(), in.Overrides.Check())
}

// CheckID returns an error if the agent ID has characters other than printable ASCII. Temporal accepts any text. But
// the ID becomes a part of the IDs of sub-agents, of HTTP headers and of web addresses.
func CheckID(id string) error {
	for i := range len(id) {
		if id[i] < ' ' || id[i] > '~' {
			return fmt.Errorf("the workflow ID %q has characters other than printable ASCII; start the agent under another ID", id)
		}
	}
	return nil
}

// CheckOrigin returns an error if the new run may not begin with the state of the earlier run that the start names. For example, only a
// fork may begin with the state of another agent. The field State of the start contains the earlier run's state, or the field From names
// the run whose history contains it. The parameter `id` is the ID of the agent. The parameter `continued` is the ID of the run before the
// new one if a continue-as-new began the new one, and "" if not.
func (in Start) CheckOrigin(id, continued string) error {
	from := in.From
	switch {
	case in.State != nil && continued == "":
		return errors.New("start: the field \"state\" is set, but this run does not continue an earlier run; leave the field out")
	case from == nil || from.Fork:
		return nil
	case from.ID != id:
		return fmt.Errorf("start: from.id is %q, which is not this agent's ID, %q; set from.fork to begin with the state of another agent", from.ID, id)
	case !from.Resume && from.RunID != continued:
		return fmt.Errorf("start: the field from.run_id is %q, but the field must name the run that this run continues, %q; to begin with the state of another run, set the field from.fork or from.resume", from.RunID, continued)
	}
	return nil
}

// New returns the state of a new agent, to which nothing has happened except its start. If the start has a first
// message, this message is in the queue. The parameter `now` is the time of the start, in Unix milliseconds.
func New(agentID string, in Start, now int64) *State {
	s := &State{
		Identity: in.Identity(agentID),
		Agent:    in.Agent, Mode: cmp.Or(in.Mode, Task), Depth: in.Depth, MaxDepth: in.MaxDepth,
		Grant: in.Grant, OutputSchema: in.OutputSchema, Metadata: in.Metadata, Overrides: in.Overrides,
	}
	for _, m := range in.Messages() {
		s.Apply(MessageReceived{Message: m, Time: now})
	}
	return s
}
