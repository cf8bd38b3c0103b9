package agent

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
)

// Start is the input of an agent's workflow. A client, a schedule or a parent workflow starts the agent with it. Each
// Temporal execution of this workflow is a run of the agent. A reset, a continue-as-new and a resume begin a new run of
// the same agent.
type Start struct {
	// Agent is the name of the definition. Required.
	Agent string `json:"agent"`
	// Mode defaults to [Task].
	Mode Mode `json:"mode,omitempty"`
	// KeyVersion is the version of the agent's keys and texts: the constant [KeyVersion] at the time when the agent was
	// started. It never changes for this agent. Zero means 1.
	KeyVersion int `json:"key_version,omitempty"`
	// Incarnation distinguishes this agent from earlier agents with the same ID: see [Identity]. A client sets it to a
	// new UUID. If it is empty, the driver uses the ID of the agent's first run, which a reset does not change.
	Incarnation string `json:"life,omitempty"`
	// Message is the first message. An agent in task mode needs it, except if this start continues an earlier run.
	Message *InboxMessage `json:"message,omitempty"`

	// Key, Parent, Depth and MaxDepth are set for a sub-agent. Key is the sub-agent's key. Parent is the ID of the
	// parent. Depth is the number of levels below the root agent: 1 for a sub-agent of the root agent. MaxDepth is the
	// root agent's limit: see [Limits].Depth.
	Key      Key    `json:"key,omitempty"`
	Parent   string `json:"parent,omitempty"`
	Depth    int    `json:"depth,omitempty"`
	MaxDepth *int   `json:"max_depth,omitempty"`
	// Grant limits the spending of a sub-agent.
	Grant Grant `json:"grant,omitzero"`

	// AnswerBytes is the size in bytes to which a sub-agent cuts its answer; 0 means that the answer is not cut. It is
	// the size to which the parent cuts tool results. Batch is the number of calls that the parent runs together with
	// the call for this sub-agent: see [State.BatchSize]. One run of the parent has all of their results in its
	// history, so a large Batch cuts the answer further. 0 means 1.
	AnswerBytes int `json:"answer_bytes,omitempty"`
	Batch       int `json:"batch,omitempty"`

	// OutputSchema is a JSON schema that answers must fit; empty means the definition's schema.
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`

	// State is the compressed state of the run that continued as new into this run.
	State []byte `json:"state,omitempty"`
	// From is the run whose history contains the state with which this run begins.
	From *RunRef `json:"from,omitempty"`
	// BaseRunID is the ID of the base run, an earlier run of the agent. It is set if the agent has ever been reset or
	// resumed. This run then looks for results in the history of the base run, and in those of other earlier runs,
	// instead of running an effect again.
	BaseRunID string `json:"base,omitempty"`
}

// RunRef names a run of an agent, and says how another run goes on from it. A run is one Temporal execution of the
// agent's workflow: see [Start].
type RunRef struct {
	// ID and RunID are Temporal's workflow ID and run ID.
	ID    string `json:"id"`
	RunID string `json:"run_id"`
	// Events is the number of history events to read; 0 means all events of a closed run.
	Events int64 `json:"events,omitempty"`
	// Fork makes a new agent from the first At messages of the named run.
	Fork bool `json:"fork,omitempty"`
	At   int  `json:"at,omitempty"`
	// Resume continues an agent that has ended. Reload makes the resumed agent read its definition again. If Fork and
	// Resume are false, the new run continues the named run directly, after a continue-as-new.
	Resume bool `json:"resume,omitempty"`
	Reload bool `json:"reload,omitempty"`
}

// Continues reports whether the run begins with the state of an earlier run. Otherwise, it begins with an empty
// transcript.
func (in Start) Continues() bool { return in.State != nil || in.From != nil }

// Identity returns the part that all keys of the agent have in common. It depends only on the start and on the agent's
// ID. So in a replay, code of a later version makes the same keys.
func (in Start) Identity(agentID string) Identity {
	return Identity{KeyVersion: cmp.Or(in.KeyVersion, 1), AgentID: agentID, Incarnation: in.Incarnation}
}

// Check returns an error if the start is invalid. It also runs in a replay, so it never refuses a start that an earlier
// version accepted. Before you send a start, also call [CheckMessage], which checks its message more strictly.
func (in Start) Check() error {
	switch {
	case in.Agent == "":
		return errors.New("start: agent is not set; set it to the name of a definition")
	case in.Mode != "" && in.Mode != Task && in.Mode != Chat:
		return fmt.Errorf("start: mode is %q; it must be %q or %q", in.Mode, Task, Chat)
	case in.Message == nil && in.Mode != Chat && !in.Continues():
		return errors.New("start: message is not set, but an agent in task mode needs a message; set message, or set mode to \"chat\"")
	}
	if in.Message != nil {
		if err := in.Message.check(); err != nil {
			return fmt.Errorf("start: %w", err)
		}
	}
	if len(in.OutputSchema) > 0 && !unambiguousObject(string(in.OutputSchema)) {
		return errors.New("start: output_schema is not a JSON object; set it to a JSON schema, such as {\"type\": \"object\"}")
	}
	return nil
}

// CheckID returns an error if the agent ID has characters other than printable ASCII. Temporal accepts any text, but
// the ID becomes part of the IDs of sub-agents, of HTTP headers and of web addresses.
func CheckID(id string) error {
	for i := range len(id) {
		if id[i] < ' ' || id[i] > '~' {
			return fmt.Errorf("the workflow ID %q has characters other than printable ASCII; start the agent under another ID", id)
		}
	}
	return nil
}

// CheckOrigin returns an error if the new run of the agent id may not begin with the state of the earlier run that the start
// names. The start contains this state in the field State, or names in the field From the run whose history contains it. For
// example, a run may read the state of another agent only to fork that agent. If a run continued as new into the new run, the
// caller gives the ID of that run (continued), else "".
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
		return fmt.Errorf("start: from.run_id is %q, but this run continues the run %q; to begin with the state of another run, set from.fork or from.resume", from.RunID, continued)
	}
	return nil
}

// New returns the state of a new agent, to which nothing has happened except its start. If the start has a first message, this
// message is in the inbox. The time of the start (now) is in Unix milliseconds.
func New(agentID string, in Start, now int64) *State {
	if in.Mode == "" {
		in.Mode = Task
	}
	s := &State{
		Identity: in.Identity(agentID),
		Agent:    in.Agent, Mode: in.Mode, Depth: in.Depth, MaxDepth: in.MaxDepth,
		Grant: in.Grant, OutputSchema: in.OutputSchema,
	}
	if in.Message != nil {
		s.Apply(MessageReceived{Message: *in.Message, Time: now})
	}
	return s
}
