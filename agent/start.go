package agent

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
)

// Start is what an agent starts from: the input of its workflow. It may come from a
// client, a schedule, or a workflow that runs an agent as its child.
type Start struct {
	// Agent is the name of the definition. Required.
	Agent string `json:"agent"`
	// Mode defaults to [Task].
	Mode Mode `json:"mode,omitempty"`
	// KeyVersion is the version of the agent's keys and texts, [KeyVersion] when it was started. It stays for the agent's life. Zero
	// means 1.
	KeyVersion int `json:"key_version,omitempty"`
	// Incarnation tells this agent from earlier ones of the same ID. A client mints a UUID. Empty
	// means the ID of the first run, which a reset keeps.
	Incarnation string `json:"life,omitempty"`
	// Message is the first message. Required in task mode.
	Message *InboxMessage `json:"message,omitempty"`

	// Key, Depth and MaxDepth are set in a sub-agent: its key, how many levels it is below the
	// root agent, and the root agent's limit. Parent is the ID of the agent that asked for it.
	Key      Key    `json:"key,omitempty"`
	Parent   string `json:"parent,omitempty"`
	Depth    int    `json:"depth,omitempty"`
	MaxDepth *int   `json:"max_depth,omitempty"`
	// Grant limits the spending of a sub-agent.
	Grant Grant `json:"grant,omitzero"`

	// AnswerBytes is the size to which a sub-agent cuts its answer, as its parent does; 0 means that it is not cut. Batch is
	// the number of calls whose results share the history of the parent's run with the answer; 0 means 1.
	AnswerBytes int `json:"answer_bytes,omitempty"`
	Batch       int `json:"batch,omitempty"`

	// OutputSchema is a JSON schema that the answers have to fit; empty means the definition's.
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`

	// State is the compressed state of the run that this one continues.
	State []byte `json:"state,omitempty"`
	// From is the run from whose history the state is read.
	From *RunRef `json:"from,omitempty"`
	// BaseRunID is a run that ended before this one, whose results count: set where the agent was reset
	// or resumed at any time before.
	BaseRunID string `json:"base,omitempty"`
}

// RunRef names a run, and what of its agent is taken.
type RunRef struct {
	// ID and RunID are Temporal's names of the run.
	ID    string `json:"id"`
	RunID string `json:"run_id"`
	// Events is the number of events that are read; 0 means all of a closed run.
	Events int64 `json:"events,omitempty"`
	// Fork makes a new agent of the first At messages.
	Fork bool `json:"fork,omitempty"`
	At   int  `json:"at,omitempty"`
	// Resume lets an agent go on that has ended; with Reload by its definition read anew. With neither
	// Fork nor Resume the run continues the other as if nothing were between them.
	Resume bool `json:"resume,omitempty"`
	Reload bool `json:"reload,omitempty"`
}

// Continues reports whether the start is that of an agent that has a state already.
func (in Start) Continues() bool { return in.State != nil || in.From != nil }

// Identity returns what all keys of the agent have in common. It follows from the start alone, so that a replay by code of a later
// version makes the same keys.
func (in Start) Identity(agentID string) Identity {
	return Identity{KeyVersion: cmp.Or(in.KeyVersion, 1), AgentID: agentID, Incarnation: in.Incarnation}
}

// Check reports what is wrong with the start. It is part of a replay, so it takes every message that it once took;
// who makes a new message calls [CheckMessage].
func (in Start) Check() error {
	switch {
	case in.Agent == "":
		return errors.New("start: agent is not set")
	case in.Mode != "" && in.Mode != Task && in.Mode != Chat:
		return fmt.Errorf("start: mode is %q; it must be %q or %q", in.Mode, Task, Chat)
	case in.Message == nil && in.Mode != Chat && !in.Continues():
		return errors.New("start: an agent in task mode needs a message")
	}
	if in.Message != nil {
		if err := in.Message.check(); err != nil {
			return fmt.Errorf("start: %w", err)
		}
	}
	if len(in.OutputSchema) > 0 && !isObject(string(in.OutputSchema)) {
		return errors.New("start: output_schema is not a JSON object")
	}
	return nil
}

// CheckID reports what is wrong with an agent's ID. Temporal takes any text, but the ID becomes part of the IDs of
// sub-agents, of HTTP headers and of addresses.
func CheckID(id string) error {
	for i := range len(id) {
		if id[i] < ' ' || id[i] > '~' {
			return fmt.Errorf("the workflow ID %q has characters other than printable ASCII; start the agent under another ID", id)
		}
	}
	return nil
}

// CheckOrigin reports whether the state that the start brings or names may be the agent's. ID is that of the agent, and
// continued the run of which Temporal says that it was continued as new by the agent's run; empty where there is none. A
// run may read another agent's state only to fork it.
func (in Start) CheckOrigin(id, continued string) error {
	from := in.From
	switch {
	case in.State != nil && continued == "":
		return errors.New("start: only a run that was continued as new may have a state")
	case from == nil || from.Fork:
		return nil
	case from.ID != id:
		return fmt.Errorf("start: from.id is %q; without from.fork it must be the agent's own ID, %q", from.ID, id)
	case !from.Resume && from.RunID != continued:
		return fmt.Errorf("start: from.run_id is %q; without from.fork and from.resume it must be the run that was continued as new, %q", from.RunID, continued)
	}
	return nil
}

// New returns the state of an agent to which nothing has happened yet but its
// start, at the given time.
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
