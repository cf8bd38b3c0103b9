package protocol

import "github.com/reagent-dev/reagent/agent"

// ChildEndSignal is the signal by which a sub-agent that was resumed reports its end to its parent. The argument is a
// [ChildEnd]. Temporal itself reports to a parent only the end of the run that the parent started. A resume starts another
// run, and therefore needs the signal.
const ChildEndSignal = "child-end"

// These are the updates that a running agent accepts.
const (
	// MessageUpdate puts a message into the agent's queue. Its argument is an [agent.QueuedMessage], and its result is
	// [Accepted]. If the validator of the update refuses the message, the history gets no event.
	MessageUpdate = "message"
	// CloseUpdate closes the agent. The agent then accepts no more messages. It ends when its turn has ended and its queue is
	// empty. The update has no argument.
	CloseUpdate = "close"
	// UpgradeUpdate moves the agent to the current version of its workers. The agent continues as new as soon as all model
	// calls and tool calls in flight have ended. The update has no argument.
	UpgradeUpdate = "upgrade"
	// ReloadUpdate tells the agent to read its definition again. The agent does this when no model call is in flight, every tool call has
	// its result, and no summary is to be made. The argument is an ID that the sender chooses. The agent ignores a second update with the
	// same ID.
	ReloadUpdate = "reload"
	// PartialTextUpdate asks for the text of replies and the output of tools while they grow. Its argument is the duration, in
	// milliseconds, at most one hour. The model calls and tool calls that begin in this time report their text.
	PartialTextUpdate = "partial-text"
	// DecideUpdate brings a decision on a call, or the result of an external call. Its argument is an [agent.Decision]. If the agent
	// refuses the decision, the error has the type [Refused]. Usually the validator of the update refuses it, without an event in the
	// history. While the run reads its state and after a reset, the handler refuses it instead.
	DecideUpdate = "decide"
	// RevokeUpdate removes a permission: see [agent.Permission]. Its argument is the key of the permission.
	RevokeUpdate = "revoke"
	// InterruptUpdate stops the running turn. Its argument is an [agent.Interrupt]. The agent then waits for a message. If no turn
	// is running, or if the agent has begun another run, the validator of the update refuses the request.
	InterruptUpdate = "interrupt"
	// AsideUpdate asks the model a question aside. Its argument is an [agent.Aside], and its result is the answer, a string. Only the
	// tokens and the cost of the answer change the agent's state.
	AsideUpdate = "aside"
	// ResumeLostUpdate reports a resume that came too late, because another resume had already continued the agent. The
	// argument is the ID of the late resume. The agent only counts such resumes: see [agent.Usage].
	ResumeLostUpdate = "resume-lost"
)

// Accepted is the result of a [MessageUpdate]. It says that the agent has received the message.
type Accepted struct {
	// ID is the ID of the message.
	ID string `json:"id"`
	// Duplicate says that the agent had received a message with the same ID before. The agent has then dropped the new
	// message, even if the texts of the two messages differ.
	Duplicate bool `json:"duplicate,omitempty"`
	// Differs says that the earlier message had another text or other images: see [agent.State.HasOther].
	Differs bool `json:"differs,omitempty"`
}

// Update is an update that changes the state of an agent. Its argument has the type A.
type Update[A any] struct {
	// Name is the name of the update.
	Name string
	// Event returns the event by which the update changes the state. The current time is `now`, in Unix milliseconds. Event resets the
	// fields of the argument that only the agent itself may set, because a sender may have set them.
	Event func(argument A, now int64) agent.Event
}

// These are the updates that change the state of an agent, except [CloseUpdate], which has no argument. The driver applies their events.
// Package history applies the same events for a run that ended before it had read its state: see [UpdateEvent].
var (
	Message = Update[agent.QueuedMessage]{MessageUpdate, func(m agent.QueuedMessage, now int64) agent.Event {
		m.Fresh, m.Found, m.Brought, m.Place = false, false, false, nil
		return agent.MessageReceived{Message: m, Time: now}
	}}
	Decide = Update[agent.Decision]{DecideUpdate, func(d agent.Decision, now int64) agent.Event {
		d.Time, d.Early, d.Actor = 0, false, d.Stated()
		return agent.Decided{Decision: d, Time: now}
	}}
	Revoke = Update[agent.Key]{RevokeUpdate, func(permission agent.Key, _ int64) agent.Event {
		return agent.PermissionRevoked{Key: permission}
	}}
	Interrupt = Update[agent.Interrupt]{InterruptUpdate, func(i agent.Interrupt, now int64) agent.Event {
		i.Actor = i.Stated()
		return i.Stopped(now)
	}}
	Reload = Update[string]{ReloadUpdate, func(id string, _ int64) agent.Event { return agent.ReloadAsked{ID: id} }}
	// PartialText has a duration as its argument, in milliseconds.
	PartialText = Update[int64]{PartialTextUpdate, func(duration, now int64) agent.Event {
		return agent.PartialTextAsked{Until: now + duration, Time: now}
	}}
	ResumeLost = Update[string]{ResumeLostUpdate, func(id string, _ int64) agent.Event { return agent.ResumeLost{ID: id} }}
)

func (u Update[A]) read(decode func(any) error, now int64) (agent.Event, error) {
	var argument A
	err := decode(&argument)
	return u.Event(argument, now), err
}

var events = map[string]func(decode func(any) error, now int64) (agent.Event, error){
	Message.Name: Message.read, Decide.Name: Decide.read, Revoke.Name: Revoke.read, Interrupt.Name: Interrupt.read,
	Reload.Name: Reload.read, PartialText.Name: PartialText.read, ResumeLost.Name: ResumeLost.read,
	CloseUpdate: func(func(any) error, int64) (agent.Event, error) { return agent.Closed{}, nil },
}

// UpdateEvent returns the event by which the update with the given name changes the agent's state. It returns nil for the updates
// that have no such event, [UpgradeUpdate] and [AsideUpdate], and for an unknown name. To read the argument of the update, UpdateEvent
// calls `decode` with a pointer to a variable of the right type. The error is the error of `decode`. The current time is `now`, in
// Unix milliseconds.
func UpdateEvent(name string, decode func(any) error, now int64) (agent.Event, error) {
	if read := events[name]; read != nil {
		return read(decode, now)
	}
	return nil, nil
}
