package agent

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
)

// Start is the input of the workflow of an agent. It comes from a client, from a schedule, or from a workflow that runs
// an agent as its child.
type Start struct {
	// Agent is the name of the definition. Required.
	Agent string `json:"agent"`
	// Mode defaults to [Task].
	Mode Mode `json:"mode,omitempty"`
	// KeyVersion is the version of the agent's keys and texts: the constant [KeyVersion] at the time when the agent was
	// started. It never changes for this agent. Zero means 1.
	KeyVersion int `json:"key_version,omitempty"`
	// Incarnation distinguishes this agent from earlier agents with the same ID. A client sets it to a new UUID. Empty
	// means the ID of the first run, which a reset keeps.
	Incarnation string `json:"life,omitempty"`
	// Message is the first message. It is required in task mode, unless the start continues an earlier run.
	Message *InboxMessage `json:"message,omitempty"`

	// Key, Depth and MaxDepth are set for a sub-agent. Key is its key. Depth is the number of levels that it is below
	// the root agent, and MaxDepth is the root agent's limit. Parent is the ID of the agent that asked for it.
	Key      Key    `json:"key,omitempty"`
	Parent   string `json:"parent,omitempty"`
	Depth    int    `json:"depth,omitempty"`
	MaxDepth *int   `json:"max_depth,omitempty"`
	// Grant limits the spending of a sub-agent.
	Grant Grant `json:"grant,omitzero"`

	// AnswerBytes is the size in bytes to which a sub-agent cuts its answer; its parent cuts results to the same size.
	// 0 means that the answer is not cut. Batch is the number of calls whose results are in the same run of the parent
	// as the answer. 0 means 1.
	AnswerBytes int `json:"answer_bytes,omitempty"`
	Batch       int `json:"batch,omitempty"`

	// OutputSchema is a JSON schema that answers must fit; empty means the definition's schema.
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`

	// State is the compressed state of the run that this one continues.
	State []byte `json:"state,omitempty"`
	// From is the run whose history contains the state with which this run begins.
	From *RunRef `json:"from,omitempty"`
	// BaseRunID is a run that ended before this run. The results in its history are used again. It is set if the agent
	// has ever been reset or resumed.
	BaseRunID string `json:"base,omitempty"`
}

// RunRef names a run and says how another run goes on from it.
type RunRef struct {
	// ID and RunID are Temporal's workflow ID and run ID.
	ID    string `json:"id"`
	RunID string `json:"run_id"`
	// Events is the number of history events to read; 0 means all events of a closed run.
	Events int64 `json:"events,omitempty"`
	// Fork makes a new agent from the first At messages.
	Fork bool `json:"fork,omitempty"`
	At   int  `json:"at,omitempty"`
	// Resume lets an agent go on that has ended. With Reload, its definition is read again. Without Fork and Resume,
	// the new run continues the run directly, as after a continue-as-new.
	Resume bool `json:"resume,omitempty"`
	Reload bool `json:"reload,omitempty"`
}

// Continues reports whether the agent begins with the state of an earlier run.
func (in Start) Continues() bool { return in.State != nil || in.From != nil }

// Identity returns the part that all keys of the agent have in common. It depends only on the start and the agent's ID,
// so code of a later version makes the same keys in a replay.
func (in Start) Identity(agentID string) Identity {
	return Identity{KeyVersion: cmp.Or(in.KeyVersion, 1), AgentID: agentID, Incarnation: in.Incarnation}
}

// Check returns an error if the start is invalid. It also runs in a replay, so it accepts every message that it has
// ever accepted. Call [CheckMessage] for a new message.
func (in Start) Check() error {
	switch {
	case in.Agent == "":
		return errors.New("start: agent is not set; set it to the name of a definition")
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

// CheckID returns an error if an agent's ID has other characters than printable ASCII. Temporal accepts any text. But
// the ID becomes part of the IDs of sub-agents, of HTTP headers and of web addresses.
func CheckID(id string) error {
	for i := range len(id) {
		if id[i] < ' ' || id[i] > '~' {
			return fmt.Errorf("the workflow ID %q has characters other than printable ASCII; start the agent under another ID", id)
		}
	}
	return nil
}

// CheckOrigin returns an error if the agent may not begin with the state that the start contains or names. id is the ID
// of the agent. continued is the ID of the run that was continued as new by the agent's run; empty if there is none. A
// run may read the state of another agent only to fork it.
func (in Start) CheckOrigin(id, continued string) error {
	from := in.From
	switch {
	case in.State != nil && continued == "":
		return errors.New("start: only a run that was continued as new may have a state; leave state out")
	case from == nil || from.Fork:
		return nil
	case from.ID != id:
		return fmt.Errorf("start: from.id is %q; without from.fork it must be the agent's own ID, %q", from.ID, id)
	case !from.Resume && from.RunID != continued:
		return fmt.Errorf("start: from.run_id is %q; without from.fork and from.resume it must be the run that was continued as new, %q", from.RunID, continued)
	}
	return nil
}

// New returns the state of a new agent at the time now, in Unix milliseconds. Nothing has happened to the agent except
// its start: the first message, if there is one, is in its inbox.
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
