package protocol

import "github.com/reagent-dev/reagent/agent"

// ChildEndSignal is the signal by which a resumed sub-agent sends a [ChildEnd] to its parent. Temporal itself reports
// to a parent only the run that the parent started.
const ChildEndSignal = "child-end"

// The updates of a running agent. The history has no events of an update that a validator refuses.
const (
	// MessageUpdate takes an [agent.InboxMessage] and returns [Accepted].
	MessageUpdate = "message"
	// CloseUpdate has no argument. The agent accepts no more messages, and ends when its turn has ended and its inbox is
	// empty.
	CloseUpdate = "close"
	// UpgradeUpdate has no argument. The agent continues as new, on the current version of its workers, as soon as no model
	// call or tool call is in flight.
	UpgradeUpdate = "upgrade"
	// ReloadUpdate takes the ID of this request to reload. The agent reads its definition again as soon as each call has
	// its result and no model call is in flight. The agent ignores a request with the ID of an earlier request.
	ReloadUpdate = "reload"
	// ResumeLostUpdate takes the ID of a resume that came too late: another resume had already continued the agent. The
	// agent counts it in its [agent.Usage].
	ResumeLostUpdate = "resume-lost"
)

// Accepted is the result of a [MessageUpdate]: the agent has received the message.
type Accepted struct {
	ID string `json:"id"`
	// Duplicate says that the agent had received a message with the same ID before. It has dropped this message, even if
	// the text differs.
	Duplicate bool `json:"duplicate,omitempty"`
}

// UpdateEvent returns the event that an update applies to the agent, by the name of the update. It returns nil for an
// [UpgradeUpdate], which applies no event, and for an unknown name. UpdateEvent passes a pointer to the function in the
// parameter decode, which stores the decoded argument of the update there. The parameter now is the time of the event, in
// Unix milliseconds.
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
