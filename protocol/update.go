package protocol

import "github.com/reagent-dev/reagent/agent"

// ChildEndSignal is the signal by which a resumed sub-agent reports its end to its parent. The argument is a
// [ChildEnd]. The signal is necessary because the resume has started a new run: Temporal itself reports to a parent
// only the end of the run that the parent started.
const ChildEndSignal = "child-end"

// These are the updates of a running agent.
const (
	// MessageUpdate takes an [agent.InboxMessage], puts it into the agent's inbox, and returns [Accepted]. If the
	// validator of the update refuses the message, the history gets no event.
	MessageUpdate = "message"
	// CloseUpdate has no argument. The agent accepts no more messages, and ends when its turn has ended and its inbox is
	// empty.
	CloseUpdate = "close"
	// UpgradeUpdate has no argument. The agent continues as new, on the current version of its workers, as soon as no model
	// call or tool call is in flight.
	UpgradeUpdate = "upgrade"
	// ReloadUpdate takes an ID that the sender chooses for this reload. The agent reads its definition again as soon
	// as each call has its result and no model call is in flight. The agent ignores a second update with the same ID.
	ReloadUpdate = "reload"
	// ResumeLostUpdate reports a resume that came too late, because another resume had already continued the agent.
	// It takes the ID of the late resume. The agent only counts it: see [agent.Usage].
	ResumeLostUpdate = "resume-lost"
)

// Accepted is the result of a [MessageUpdate]: the agent has received the message.
type Accepted struct {
	// ID is the ID of the message.
	ID string `json:"id"`
	// Duplicate says that the agent had received a message with the same ID before. The agent has dropped this
	// message, even if its text differs.
	Duplicate bool `json:"duplicate,omitempty"`
}

// UpdateEvent returns the event that the update with the given name applies to the agent's state. It returns nil for an
// [UpgradeUpdate], which does not change the state, and for an unknown name. If the update has an argument, UpdateEvent calls the
// given function (decode) with a pointer to a variable, into which the function decodes the argument. The error is that of the
// function. The current time (now) is in Unix milliseconds.
func UpdateEvent(name string, decode func(any) error, now int64) (agent.Event, error) {
	switch name {
	case MessageUpdate:
		var m agent.InboxMessage
		err := decode(&m)
		return agent.MessageReceived{Message: m, Time: now}, err
	case CloseUpdate:
		return agent.Closed{}, nil
	case ResumeLostUpdate:
		var id string
		err := decode(&id)
		return agent.ResumeLost{ID: id}, err
	case ReloadUpdate:
		var id string
		err := decode(&id)
		return agent.ReloadAsked{ID: id}, err
	}
	return nil, nil
}
