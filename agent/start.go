package agent

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
)

// Start is the input of an agent's workflow. It comes from a client, from a schedule, or from a workflow that runs an
// agent as its child.
type Start struct {
	// Agent is the name of the definition. Required.
	Agent string `json:"agent"`
	// Mode defaults to [Task].
	Mode Mode `json:"mode,omitempty"`
	// KeyVersion is the version of the agent's keys and texts: the constant [KeyVersion] at the time when the agent was
	// started. It never changes for this agent. Zero means 1.
	KeyVersion int `json:"key_version,omitempty"`
	// Incarnation distinguishes this agent from earlier agents with the same ID. A client sets it to a new UUID. If it
	// is empty, the driver uses the ID of the agent's first run, which a reset does not change.
	Incarnation string `json:"life,omitempty"`
	// Message is the first message. It is required in task mode, unless the start continues an earlier run.
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

	// AnswerBytes is the size in bytes to which a sub-agent cuts its answer. It is the size to which the parent cuts
	// tool results. 0 means that the answer is not cut. Batch is the size of the batch of calls to which the call for
	// the sub-agent belongs: see [State.BatchSize]. All results of a batch are in the history of one run of the parent,
	// so a large batch cuts the answer further. 0 means 1.
	AnswerBytes int `json:"answer_bytes,omitempty"`
	Batch       int `json:"batch,omitempty"`

	// OutputSchema is a JSON schema that answers must fit; empty means the definition's schema.
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`

	// State is the compressed state of the run that continued as new into this run.
	State []byte `json:"state,omitempty"`
	// From is the run whose history contains the state with which this run begins.
	From *RunRef `json:"from,omitempty"`
	// BaseRunID is the ID of a run that ended before this run. This run uses the results in its history instead of
	// running the effects again. BaseRunID is set if the agent has ever been reset or resumed.
	BaseRunID string `json:"base,omitempty"`
}

// RunRef names a run and says how another run goes on from it.
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

// Continues reports whether the agent begins with the state of an earlier run.
func (in Start) Continues() bool { return in.State != nil || in.From != nil }

// Identity returns the part that all keys of the agent have in common. It depends only on the start and the agent's ID,
// so code of a later version makes the same keys in a replay.
func (in Start) Identity(agentID string) Identity {
	return Identity{KeyVersion: cmp.Or(in.KeyVersion, 1), AgentID: agentID, Incarnation: in.Incarnation}
}

// Check returns an error if the start is invalid. It also runs in a replay, so it never refuses a start that an earlier
// version accepted. [CheckMessage] checks a new message more strictly; call it, too, before you send a start.
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
	if len(in.OutputSchema) > 0 && !isObject(string(in.OutputSchema)) {
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

// CheckOrigin checks the fields State and From of the start: the state in State, or the run in From whose state is to
// be read. It returns an error if the new run may not begin with this state. A run may read the state of another agent
// only to fork that agent. The parameter id is the agent's ID. The parameter continued is the ID of the run that
// continued as new into this run; empty if there is none.
func (in Start) CheckOrigin(id, continued string) error {
	from := in.From
	switch {
	case in.State != nil && continued == "":
		return errors.New("start: the field \"state\" is set, but no run continued as new into this run; leave the field out")
	case from == nil || from.Fork:
		return nil
	case from.ID != id:
		return fmt.Errorf("start: from.id is %q, which is not this agent's ID, %q; set from.fork to begin with the state of another agent", from.ID, id)
	case !from.Resume && from.RunID != continued:
		return fmt.Errorf("start: from.run_id is %q, but the run that continued as new into this run is %q; set from.fork or from.resume to begin with the state of another run", from.RunID, continued)
	}
	return nil
}

// New returns the state of a new agent. The parameter now is the time of the start, in Unix milliseconds. Nothing has
// happened to the agent except its start. If the start has a first message, this message is in the inbox.
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
