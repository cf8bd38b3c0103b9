package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
)

// SendOrStart gives a message to the agent with the given ID, whatever has become of the agent:
//   - If there is no such agent, SendOrStart starts one, and the message is its first message.
//   - If the agent is running, SendOrStart is [Client.Send].
//   - If the agent failed, was cancelled, was terminated or timed out, SendOrStart resumes it with the message: see [Client.Resume].
//
// The ID of the message makes this safe to repeat. After any error, call SendOrStart again with the same [Message].ID: the message enters
// the transcript once, and begins one turn. So a message without an ID is refused. This also holds if several programs call SendOrStart at the same time, with the same message
// or with others, and if the agent ends meanwhile. If the agent has received the message already, Duplicate is set in the result, and
// nothing is sent; if that message had another text, [Sent].Differs is set. An agent that ended before it answered the message is resumed
// all the same.
//
// The options say how an agent is started. SendOrStart overwrites their fields ID, PartialText, and those of the first message. If Mode
// is empty, the agent is a chat. If there is an agent with the ID and another definition than StartOptions.Agent, the error is an
// [*OtherAgentError], and nothing is sent.
//
// An agent that has completed stays completed, because somebody has closed the chat, or the task is done. The error is then a
// [*ClosedError]: choose another ID, or fork the agent. If the message or the options are invalid, the error wraps [ErrInvalid], also if
// the agent exists. The other errors are those of [Client.Start], [Client.Send] and [Client.Resume].
// Temporal deletes ended agents at the end of the namespace's retention period, and then does not know their messages any more.
func (c *Client) SendOrStart(ctx context.Context, id string, m Message, o StartOptions) (Sent, error) {
	if m.ID == "" {
		return Sent{}, fmt.Errorf("send to agent %q or start it: %w", id, invalid(fmt.Errorf("%w: Message.ID is empty: give the message an ID, and the same one when you send it again", agent.ErrMessage)))
	}
	o.ID, o.Message, o.MessageID, o.Images, o.PartialText = id, m.Text, m.ID, m.Images, m.PartialText
	o.MessageMetadata, o.MessageOverrides = m.Metadata, m.Overrides
	o.Mode = cmp.Or(o.Mode, agent.Chat)
	unsent := Sent{MessageID: m.ID}
	_, err := o.start()                           // also if the agent exists, so that a mistake does not show up only later
	if err = cmp.Or(err, m.Check()); err != nil { // a chat may start without a message
		return unsent, fmt.Errorf("send to agent %q or start it: %w", id, err)
	}
	began := time.Now()
	for pause := minPause; ; pause = min(2*pause, maxPause) {
		sent, err := c.sendOrStart(ctx, id, m, o)
		if !errors.Is(err, errOvertaken) {
			return sent, err
		}
		if time.Since(began) > busyTimeout || !sleep(ctx, pause) {
			return unsent, cmp.Or(context.Cause(ctx), err)
		}
	}
}

// OtherAgentError is the error of [Client.SendOrStart] if the agent with the ID has another definition than the one to start. To write to the
// agent in any case, set StartOptions.Agent to Agent, or call [Client.Send].
type OtherAgentError struct {
	// ID is the agent's ID.
	ID string
	// Agent is the name of its definition, and Wanted that of StartOptions.Agent.
	Agent, Wanted string
}

// Error names the agent and both definitions.
func (e *OtherAgentError) Error() string {
	return fmt.Sprintf("agent %q has the definition %q and not %q: choose another ID, or set StartOptions.Agent to %q", e.ID, e.Agent, e.Wanted, e.Agent)
}

// errOvertaken says that the agent has begun, ended or was resumed since the client looked at it, so that the client has to look again.
var errOvertaken = errors.New("the agent begins and ends again and again; send the message again with the same ID")

// sendOrStart tries once what [Client.SendOrStart] does.
func (c *Client) sendOrStart(ctx context.Context, id string, m Message, o StartOptions) (Sent, error) {
	sent := Sent{MessageID: m.ID}
	found, err := c.describe(ctx, id)
	switch {
	case errors.Is(err, ErrNotFound):
		started, err := c.Start(ctx, o)
		if err == nil && started.Found {
			err = errOvertaken
		}
		sent.Started = err == nil
		return sent, err
	case err != nil:
		return sent, err
	case found.agent != "" && found.agent != o.Agent: // it is empty if the memo cannot be decoded
		return sent, &OtherAgentError{ID: id, Agent: found.agent, Wanted: o.Agent}
	case found.status.Ended():
		return c.sendToEnded(ctx, id, found, m)
	}
	a := c.Agent(id)
	sent, err = a.Send(ctx, m)
	switch {
	case errors.Is(err, ErrClosed), errors.Is(err, ErrNotFound):
		return sent, errOvertaken
	case errors.Is(err, ErrRefused):
		// An agent that has ended refuses messages while it tells its hooks of the end.
		if view, unknown := a.state(ctx); unknown == nil && view.Outcome != nil {
			return sent, errOvertaken
		}
	}
	return sent, err
}

// sendToEnded resumes an agent that has ended, with the message, unless the agent has answered the message already.
func (c *Client) sendToEnded(ctx context.Context, id string, found description, m Message) (Sent, error) {
	sent := Sent{MessageID: m.ID}
	run, err := c.read(ctx, agent.RunRef{ID: id, RunID: found.runID})
	if err != nil {
		return sent, err
	}
	var message *agent.QueuedMessage
	if s := run.State; s != nil {
		sent.Duplicate, sent.Differs = s.Has(m.ID), s.HasOther(m.queued())
		if sent.Duplicate && !s.Owes(m.ID) {
			return sent, nil
		}
		if s.AsksUser() == "" || len(m.Images) > 0 { // if it asks, the message becomes the answer when the agent runs again
			queued := m.queued()
			message = &queued
			signedBy(ctx, message)
		}
	}
	if found.status == Completed {
		return sent, &ClosedError{Operation: protocol.MessageUpdate, ID: id, Status: Completed}
	}
	started, err := c.resume(ctx, id, found, run, message, false)
	switch {
	case err != nil:
		return sent, err
	case started.Found:
		return sent, errOvertaken
	case message == nil:
		_, _ = c.state(ctx, id) // a run that has not read its state does not know yet that it asks
		return sent, errOvertaken
	}
	sent.Resumed = true
	return sent, nil
}
