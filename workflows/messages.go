package workflows

import (
	"errors"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/clip"
	"github.com/reagent-dev/reagent/internal/payload"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
)

// listen registers the handlers of the agent's updates and queries. Each update has a validator that bounds its argument, because the
// state and the history keep it, and whoever reaches the namespace may send it.
func (d *driver) listen(ctx workflow.Context) error {
	for _, u := range []struct {
		name, description  string
		handler, validator any
	}{
		{protocol.MessageUpdate, "a message for the agent", d.messageArrived, within(d.accepts)},
		{protocol.CloseUpdate, "lets the agent finish when it has answered", func(ctx workflow.Context) error {
			return d.take(ctx, agent.Closed{})
		}, noArgument},
		{protocol.ResumeLostUpdate, "counts a resume that came too late, because another resume had continued the agent",
			taking(d, protocol.ResumeLost), within(agent.CheckUpdateID)},
		{protocol.ReloadUpdate, "lets the agent read its definition anew", taking(d, protocol.Reload), within(agent.CheckUpdateID)},
		{protocol.PartialTextUpdate, "lets the model calls and tool calls report their text while it grows",
			taking(d, protocol.PartialText), within(agent.CheckPartialText)},
		{protocol.DecideUpdate, "a decision on a call, or the result of an external call", d.decided, within(d.acceptsArrival)},
		{protocol.RevokeUpdate, "removes a permission", taking(d, protocol.Revoke), within(agent.CheckCall)},
		{protocol.InterruptUpdate, "stops the running turn", taking(d, protocol.Interrupt), within(d.acceptsInterrupt)},
		{protocol.AsideUpdate, "asks the model a question that is not part of the transcript", d.aside, within(d.acceptsAside)},
		{protocol.UpgradeUpdate, "lets the agent go on in a new run, on the current version of its workers", func(ctx workflow.Context) error {
			d.upgrade = true
			d.version++ // the loop has to run again
			return d.await(ctx)
		}, noArgument},
	} {
		options := workflow.UpdateHandlerOptions{Description: u.description, Validator: u.validator}
		if err := workflow.SetUpdateHandlerWithOptions(ctx, u.name, u.handler, options); err != nil {
			return err
		}
	}
	for _, q := range []struct {
		name    string
		handler any
	}{
		{protocol.TranscriptQuery, d.transcript},
		{protocol.StateQuery, d.view},
		{protocol.PendingQuery, d.pending},
		{protocol.RequestQuery, d.request},
	} {
		if err := workflow.SetQueryHandler(ctx, q.name, q.handler); err != nil {
			return err
		}
	}
	return nil
}

// within returns the validator of an update from a function that checks its argument.
func within[T any](check func(T) error) func(T) error {
	return func(argument T) error { return refusal(check(argument)) }
}

func noArgument() error { return nil }

func (d *driver) messageArrived(ctx workflow.Context, m agent.QueuedMessage) (protocol.Accepted, error) {
	changed, err := d.receive(ctx, protocol.Message.Event(m, d.now()))
	return protocol.Accepted{ID: m.ID, Duplicate: !changed, Differs: err == nil && !changed && d.state.HasOther(m)}, err
}

// acceptsInterrupt checks whether the agent accepts a request to stop the running turn. If not, the returned error says why. When
// Temporal delivers the request again after a reset, the agent refuses it, because it was for another run.
func (d *driver) acceptsInterrupt(i agent.Interrupt) error {
	if d.state == nil || i.Run != d.runSuffix {
		return errMoved
	}
	if err := i.Check(); err != nil {
		return err
	}
	return d.state.AcceptsInterrupt()
}

func taking[A any](d *driver, u protocol.Update[A]) func(workflow.Context, A) error {
	return func(ctx workflow.Context, argument A) error { return d.take(ctx, u.Event(argument, d.now())) }
}

func (d *driver) take(ctx workflow.Context, e agent.Event) error {
	_, err := d.receive(ctx, e)
	return err
}

// receive waits until the driver has a state, and then applies the event of an update. It reports whether the event changed the
// state. If the event is a message and the agent has ended, receive returns an error of type [protocol.Refused].
func (d *driver) receive(ctx workflow.Context, e agent.Event) (changed bool, err error) {
	if err := d.await(ctx); err != nil {
		return false, err
	}
	if m, ok := e.(agent.MessageReceived); ok {
		if d.state.Outcome != nil { // the validator could not check this while there was no state
			return false, refusal(agent.ErrEnded)
		}
		m.Message.Fresh = d.sentHere(m.Message.Run)
		m.Time = d.now()
		e = m
	}
	return d.apply(e), nil
}

// decided carries out a [protocol.DecideUpdate]. It checks the decision again, because the validator may have run before the driver
// had a state, and the state may have changed since. If the decision comes too late, its sender gets an error.
func (d *driver) decided(ctx workflow.Context, decision agent.Decision) error {
	if err := d.await(ctx); err != nil {
		return err
	}
	d.rewind()
	if err := d.acceptsDecision(decision, d.state.Reset != d.state.Searched); err != nil {
		return refusal(err)
	}
	if !d.apply(protocol.Decide.Event(decision, d.now())) {
		return refusal(agent.ErrDecided) // after a reset, acceptsDecision does not check this
	}
	if !d.state.Unsettled(decision) {
		return nil
	}
	// The state has the decision. The sender waits until it is known whether the decision holds.
	free, _ := workflow.NewDisconnectedContext(ctx)
	if err := workflow.Await(free, func() bool { return d.state.Outcome != nil || !d.state.Unsettled(decision) }); err != nil {
		return err
	}
	if !d.state.Keeps(decision) {
		return refusal(agent.ErrDecided)
	}
	return nil
}

// acceptsArrival is the validator of a [protocol.DecideUpdate].
func (d *driver) acceptsArrival(decision agent.Decision) error {
	if err := decision.Check(); err != nil {
		return err
	}
	return d.acceptsDecision(decision, d.state != nil && d.unsearched())
}

// acceptsDecision checks whether the agent accepts a valid decision in its state. If not, the returned error says why. There are two
// exceptions:
//   - While the driver has no state, the agent accepts every decision.
//   - While the agent has not searched the other runs (`unsearched`), it accepts every decision on a call without a result, unless it
//     has ended. After a reset, Temporal delivers earlier decisions again, before their calls exist.
func (d *driver) acceptsDecision(decision agent.Decision, unsearched bool) error {
	if d.state == nil || unsearched && d.state.Outcome == nil && !d.state.HasResult(decision.Key) {
		return nil
	}
	return d.state.AcceptsDecision(decision)
}

// unsearched reports whether a reset began this run, and the agent has not searched the other runs since. A validator runs before the
// state learns of the reset: see [driver.rewind]. It never runs in a replay, so it sees no task that the reset copied.
func (d *driver) unsearched() bool {
	return d.state.Reset != d.state.Searched || d.reset && !d.rewound
}

// accepts checks whether the agent accepts a message. If not, the returned error says why. While the driver has no state, the
// agent accepts every valid message.
func (d *driver) accepts(m agent.QueuedMessage) error {
	if d.state == nil {
		return agent.CheckMessage(m)
	}
	here := m.Run == d.runSuffix
	// After a reset Temporal delivers all earlier updates again, at once. The agent accepts these messages even if it is
	// closing, or if the queue is full.
	again := !here && d.unsearched()
	err := d.state.Accepts(m)
	switch {
	case again && (err == nil || errors.Is(err, agent.ErrClosing)):
		return nil
	case err != nil, d.state.Has(m.ID):
		return err
	case here && len(m.Images) == 0 && d.state.AsksUser() != "":
		return asksError{d.state.AsksUser()}
	case m.Steer && here && m.After > 0 && m.After != d.state.Entry():
		return errMoved
	case len(d.state.Queue) >= agent.MaxQueue, d.state.QueueBytes()+m.EncodedBytes() > agent.MaxQueueBytes:
		return agent.ErrQueueFull
	}
	return nil
}

// errMoved is the error for a steering message, an interrupt or a question aside that comes too late: see [protocol.Moved].
var errMoved = errors.New("the agent has made progress since the request was made; describe the agent again and repeat the request")

// asksError is the error for a message that comes while a call waits for a person's answer. The message is the answer: see
// [protocol.AwaitsAnswer].
type asksError struct{ call agent.Key }

func (e asksError) Error() string {
	return "the agent asks a question; answer the call " + e.call.Handle()
}

// await waits until the driver has a state. Each update handler calls await before it changes the state. After the wait, await
// lets the handlers go on in the order in which their updates arrived. Without this order, a later message could enter the queue
// first, because the SDK runs the handlers of later workflow tasks first.
//
// A cancel of the workflow does not end the wait. The workflow has accepted the update, and therefore the agent has to
// receive the message.
func (d *driver) await(ctx workflow.Context) error {
	if d.state != nil {
		return nil
	}
	before := d.early
	d.early++
	free, _ := workflow.NewDisconnectedContext(ctx)
	err := workflow.Await(free, func() bool { return d.state != nil && d.served == before })
	d.served++
	return err
}

// errReading is the error of a [protocol.RequestQuery] while the driver has no state.
var errReading = errors.New("the agent is reading its state from an earlier run; repeat the query")

// refusal returns the error with which an update handler refuses an update because of `err`. It is a non-retryable
// application error of type [protocol.Moved], [protocol.AwaitsAnswer] or [protocol.Refused]. If `err` is nil, refusal returns nil.
func refusal(err error) error {
	var asks asksError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errMoved):
		return temporal.NewNonRetryableApplicationError(err.Error(), protocol.Moved, nil)
	case errors.As(err, &asks):
		return temporal.NewNonRetryableApplicationError(err.Error(), protocol.AwaitsAnswer, nil, asks.call)
	}
	return temporal.NewNonRetryableApplicationError(err.Error(), protocol.Refused, nil)
}

// transcript answers a [protocol.TranscriptQuery] with a page of the transcript. While the driver has no state, the page has
// only the status.
func (d *driver) transcript(in protocol.TranscriptInput) (protocol.TranscriptPage, error) {
	if d.state == nil {
		return protocol.TranscriptPage{Status: agent.Running, Reading: true}, nil
	}
	all := d.state.Messages
	page := protocol.TranscriptPage{Count: d.state.Count(), First: d.state.Dropped, Status: d.state.Status(), Queue: Waiting(d.state.Queue)}
	for i, size := max(in.From-d.state.Dropped, 0), 0; i < len(all) && (in.Limit == 0 || len(page.Messages) < in.Limit); i++ {
		if size += payload.Size(all[i]); size > protocol.MaxPageBytes && len(page.Messages) > 0 {
			break
		}
		page.Messages = append(page.Messages, all[i])
	}
	return page, nil
}

// waitingBytes is the size, in bytes, to which [Waiting] cuts the text of a message.
const waitingBytes = 1000

// Waiting returns copies of the messages in a queue, shortened for people. There are at most [agent.MaxQueue] copies. Each
// has only the beginning of the text. The images and the field Late are left out. For an empty queue, Waiting returns nil.
func Waiting(queue []agent.QueuedMessage) []agent.QueuedMessage {
	var short []agent.QueuedMessage
	for _, m := range queue[:min(len(queue), agent.MaxQueue)] {
		m.Text, m.Images, m.Late = clip.Text(m.Text, waitingBytes), nil, nil
		short = append(short, m)
	}
	return short
}

// request answers a [protocol.RequestQuery] with one page of a request to the model. While the driver has no state, it
// returns [errReading]. While the agent has no definition, the page is empty.
func (d *driver) request(in protocol.RequestInput) (protocol.RequestPage, error) {
	var page protocol.RequestPage
	if d.state == nil {
		return page, errReading
	}
	if d.state.Definition == nil {
		return page, nil // without a definition there is no request
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

// view answers a [protocol.StateQuery] with a description of the agent. While the driver has no state, the description has
// only the name of the definition, the mode and the status.
func (d *driver) view() (protocol.StateView, error) {
	s := d.state
	if s == nil {
		return protocol.StateView{Agent: d.start.Agent, Mode: d.start.Mode, Status: agent.Running, Reading: true}, nil
	}
	digest := ""
	if own := s.Own(); own != nil {
		digest = own.Digest()
	}
	return protocol.StateView{
		Digest: digest, Agent: s.Agent, Mode: s.Mode, Status: s.Status(), WaitsFor: s.WaitsFor(), Turn: s.Turn, Messages: s.Count(), Queue: len(s.Queue),
		Run: d.runSuffix, Entry: s.Entry(),
		Usage: s.Usage, Hold: s.Hold, Outcome: s.Outcome, Children: s.Children, ChildCount: s.ChildCount(), Answer: clip.Text(s.Answer(), 100_000), FinishReason: s.FinishReason(),
		Refused: s.Refused, Refusal: s.Refusal(), Permissions: s.Permissions, Reloads: s.Reloads, Reloading: s.Reload, ReloadFailure: s.ReloadFailure,
	}, nil
}

// pending answers a [protocol.PendingQuery] with the tool calls that have no result yet, and the texts about which a person
// is asked: see [agent.State.Open]. While the driver has no state, it
// returns nil.
func (d *driver) pending() ([]agent.Call, error) {
	if d.state == nil {
		return nil, nil
	}
	return d.state.Open(), nil
}
