package workflows

import (
	"errors"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/clip"
	"github.com/reagent-dev/reagent/internal/payload"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/protocol"
)

// Accepted tells that a message is in the agent's inbox, or was there before.
type Accepted struct {
	ID string `json:"id"`
	// Duplicate says that the agent had received a message of this ID before: this one was dropped, whatever it said.
	Duplicate bool `json:"duplicate,omitempty"`
}

// TranscriptInput asks for a page of the transcript.
type TranscriptInput struct {
	// From is the first message asked for.
	From int `json:"from"`
	// Limit bounds the number of messages; zero means as many as a page holds.
	Limit int `json:"limit,omitempty"`
}

// Transcript is a page of the transcript, and where the agent stands.
type Transcript struct {
	Messages []agent.Message `json:"messages,omitempty"`
	// Count is the number of messages in the whole transcript, First the place of the first one that the agent
	// still holds: those before it were summarised, and are in the histories of its earlier runs.
	Count int `json:"count"`
	First int `json:"first,omitempty"`
	// Status is "running", "waiting", "held" or how the agent ended.
	Status agent.Status `json:"status"`
	// Inbox holds the messages that wait to be taken, without their images and with the beginning of their texts:
	// all of them together may be larger than Temporal lets an answer be.
	Inbox []agent.InboxMessage `json:"inbox,omitempty"`
}

// View describes an agent without its transcript.
type View struct {
	Agent    string       `json:"agent"`
	Mode     agent.Mode   `json:"mode"`
	Status   agent.Status `json:"status"`
	Turn     agent.Turn   `json:"turn"`
	Messages int          `json:"messages"`
	Inbox    int          `json:"inbox"`
	// Run is the end of the run's ID, and Entry the place at which a message enters the running turn that is sent
	// now: what [agent.InboxMessage] calls Run and After.
	Run     string         `json:"run,omitempty"`
	Entry   int            `json:"entry,omitempty"`
	Usage   agent.Usage    `json:"usage"`
	Held    *agent.Held    `json:"held,omitempty"`
	Outcome *agent.Outcome `json:"outcome,omitempty"`
	// Children are those that run and the newest of those that have ended; ChildCount counts all.
	Children   []agent.Child `json:"children,omitempty"`
	ChildCount int           `json:"child_count,omitempty"`
	Answer     string        `json:"answer,omitempty"`
	// Reloads counts the reloads of the definition. Reloading is true while a reload is under way. ReloadFailure is the reason
	// why the last reload failed; the agent then keeps the definition that it had.
	Reloads       int    `json:"reloads,omitempty"`
	Reloading     bool   `json:"reloading,omitempty"`
	ReloadFailure string `json:"reload_failure,omitempty"`
}

// listen makes the agent reachable.
func (d *driver) listen(ctx workflow.Context) error {
	err := workflow.SetUpdateHandlerWithOptions(ctx, MessageUpdate,
		func(ctx workflow.Context, m agent.InboxMessage) (Accepted, error) {
			changed, err := d.receive(ctx, agent.MessageReceived{Message: m, Time: d.now()})
			return Accepted{ID: m.ID, Duplicate: !changed}, err
		},
		workflow.UpdateHandlerOptions{
			Description: "a message for the agent",
			Validator:   func(m agent.InboxMessage) error { return refusal(d.accepts(m)) },
		})
	if err != nil {
		return err
	}
	err = workflow.SetUpdateHandlerWithOptions(ctx, CloseUpdate,
		func(ctx workflow.Context) error {
			_, err := d.receive(ctx, agent.Closed{})
			return err
		},
		workflow.UpdateHandlerOptions{Description: "lets the agent finish when it has answered"})
	if err != nil {
		return err
	}
	err = workflow.SetUpdateHandlerWithOptions(ctx, ResumeLostUpdate,
		func(ctx workflow.Context, id string) error {
			_, err := d.receive(ctx, agent.ResumeLost{ID: id})
			return err
		},
		workflow.UpdateHandlerOptions{Description: "tells of a resume that found the agent running again"})
	if err != nil {
		return err
	}
	err = workflow.SetUpdateHandlerWithOptions(ctx, ReloadUpdate,
		func(ctx workflow.Context, id string) error {
			_, err := d.receive(ctx, agent.ReloadAsked{ID: id})
			return err
		},
		workflow.UpdateHandlerOptions{Description: "lets the agent read its definition anew"})
	if err != nil {
		return err
	}
	err = workflow.SetUpdateHandlerWithOptions(ctx, UpgradeUpdate,
		func(ctx workflow.Context) error {
			d.upgrade = true
			d.version++ // the loop has to look
			return d.await(ctx)
		},
		workflow.UpdateHandlerOptions{Description: "lets the agent go on in a new run, on the current version of its workers"})
	if err != nil {
		return err
	}
	for _, q := range []struct {
		name    string
		handler any
	}{
		{TranscriptQuery, d.transcript},
		{StateQuery, d.view},
		{PendingQuery, d.pending},
		{protocol.RequestQuery, d.request},
	} {
		if err := workflow.SetQueryHandler(ctx, q.name, q.handler); err != nil {
			return err
		}
	}
	return nil
}

// receive applies what an update brings, when there is a state, and reports whether it changed the state.
func (d *driver) receive(ctx workflow.Context, e agent.Event) (changed bool, err error) {
	if err := d.await(ctx); err != nil {
		return false, err
	}
	if m, ok := e.(agent.MessageReceived); ok {
		if d.state.Outcome != nil { // the validator could not tell while there was no state
			return false, refusal(agent.ErrEnded)
		}
		m.Message.Fresh = m.Message.Run == d.runSuffix
		m.Time = d.now()
		e = m
	}
	return d.apply(e), nil
}

// UpdateEvent returns the event that an update brings to the agent; nil where it brings none. Decode decodes the update's
// argument. The time is in Unix milliseconds.
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

// accepts reports why the agent would not take m. While its state is being read it takes
// what is a message.
func (d *driver) accepts(m agent.InboxMessage) error {
	if d.state == nil {
		return agent.CheckMessage(m)
	}
	here := m.Run == d.runSuffix
	// After a reset Temporal delivers at once what the agent took over all of its runs, before and behind a close.
	again := !here && d.state.Reset != d.state.Searched
	err := d.state.Accepts(m)
	switch {
	case again && (err == nil || errors.Is(err, agent.ErrClosing)):
		return nil
	case err != nil, d.state.Has(m.ID):
		return err
	case m.Steer && here && m.After > 0 && m.After != d.state.Entry():
		return errMoved
	case len(d.state.Inbox) >= agent.MaxInbox, d.state.InboxBytes()+m.EncodedBytes() > agent.MaxInboxBytes:
		return agent.ErrInboxFull
	}
	return nil
}

// errMoved refuses a message that steers, and that names another place than the one at which it would enter.
var errMoved = errors.New("the agent has gone on since the message was written; look at it and send the message again")

// await waits until there is a state.
func (d *driver) await(ctx workflow.Context) error {
	if d.state != nil {
		return nil
	}
	d.early++
	defer func() { d.early-- }()
	// What was accepted is taken, also where a cancel comes beside it.
	free, _ := workflow.NewDisconnectedContext(ctx)
	return workflow.Await(free, func() bool { return d.state != nil })
}

// errReading answers queries while the state is being read.
var errReading = errors.New("the agent's state is being read from an earlier run; ask again")

func refusal(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errMoved):
		return temporal.NewNonRetryableApplicationError(err.Error(), Moved, nil)
	}
	return temporal.NewNonRetryableApplicationError(err.Error(), Refused, nil)
}

func (d *driver) transcript(in TranscriptInput) (Transcript, error) {
	if d.state == nil {
		return Transcript{Status: agent.Running}, nil
	}
	all := d.state.Messages
	page := Transcript{Count: d.state.Count(), First: d.state.Dropped, Status: d.state.Status(), Inbox: Waiting(d.state.Inbox)}
	for i, size := max(in.From-d.state.Dropped, 0), 0; i < len(all) && (in.Limit == 0 || len(page.Messages) < in.Limit); i++ {
		if size += payload.Size(all[i]); size > protocol.MaxPageBytes && len(page.Messages) > 0 {
			break
		}
		page.Messages = append(page.Messages, all[i])
	}
	return page, nil
}

// waitingBytes is the size to which [Waiting] cuts the text of each message.
const waitingBytes = 1000

// Waiting returns the messages of an inbox as people are shown them: at most [agent.MaxInbox], with the beginnings of their
// texts and without images and late results. It returns nil for an empty inbox.
func Waiting(inbox []agent.InboxMessage) []agent.InboxMessage {
	var short []agent.InboxMessage
	for _, m := range inbox[:min(len(inbox), agent.MaxInbox)] {
		m.Text, m.Images, m.Late = clip.Text(m.Text, waitingBytes), nil, nil
		short = append(short, m)
	}
	return short
}

func (d *driver) request(in protocol.RequestInput) (protocol.RequestPage, error) {
	var page protocol.RequestPage
	if d.state == nil {
		return page, errReading
	}
	if d.state.Definition == nil {
		return page, nil // nothing is to be sent
	}
	page.Origin = d.state.ModelIdentity()
	head := d.state.Definition.RequestPrefix
	count, sent := min(in.Count, d.state.SentCount()), d.state.Sent
	if in.Compact {
		page.Origin = d.state.SummaryIdentity()
		head = d.state.Definition.SummaryPrefix
		count = min(in.Count, d.state.SentCount()+1)
		sent = func(i int) llm.Message { return d.state.SentToCompact(i, count) }
	}
	if in.Head {
		all := head()
		page.Head = &all
		return page, nil
	}
	for i, size := max(in.From, 0), 0; i < count; i++ {
		m := sent(i)
		if size += payload.Size(m); size > protocol.MaxPageBytes && len(page.Messages) > 0 {
			break
		}
		page.Messages = append(page.Messages, m)
	}
	return page, nil
}

func (d *driver) view() (View, error) {
	s := d.state
	if s == nil {
		return View{Agent: d.start.Agent, Mode: d.start.Mode, Status: agent.Running}, nil
	}
	return View{
		Agent: s.Agent, Mode: s.Mode, Status: d.state.Status(), Turn: s.Turn, Messages: s.Count(), Inbox: len(s.Inbox),
		Run: d.runSuffix, Entry: s.Entry(),
		Usage: s.Usage, Held: s.Held, Outcome: s.Outcome, Children: s.Children, ChildCount: s.ChildCount(), Answer: clip.Text(s.Answer(), 100_000),
		Reloads: s.Reloads, Reloading: s.Reload, ReloadFailure: s.ReloadFailure,
	}, nil
}

func (d *driver) pending() ([]agent.Call, error) {
	if d.state == nil {
		return nil, nil
	}
	return d.state.Pending(), nil
}
