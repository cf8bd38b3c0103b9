package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
)

// Agent is one agent during one action of a program, such as a message and the wait for its answer. It keeps what it has read of the
// agent, so that the action does not ask Temporal and the worker for it again. Make a new Agent for each action, because what it keeps
// is soon out of date. An Agent is not safe for concurrent use.
type Agent struct {
	client *Client
	id     string
	// found comes from Temporal, and view from a worker. They are nil if the Agent has not asked since the last call of [Agent.forget].
	found *description
	view  *protocol.StateView
}

// Agent returns the agent with the given ID. It sends no request.
func (c *Client) Agent(id string) *Agent { return &Agent{client: c, id: id} }

func (a *Agent) describe(ctx context.Context) (description, error) {
	if a.found == nil {
		found, err := a.client.describe(ctx, a.id)
		if err != nil {
			return description{}, err
		}
		a.found = &found
	}
	return *a.found, nil
}

func (a *Agent) state(ctx context.Context) (protocol.StateView, error) {
	if a.view == nil {
		view, err := a.client.state(ctx, a.id)
		if err != nil {
			return protocol.StateView{}, err
		}
		a.view = &view
	}
	return *a.view, nil
}

// forget lets the next method ask again, because the agent may have changed.
func (a *Agent) forget() { a.found, a.view = nil, nil }

// TaskQueue is [Client.TaskQueue]. It sends no request if the Agent has described the agent before.
func (a *Agent) TaskQueue(ctx context.Context) (string, error) {
	found, err := a.describe(ctx)
	return found.queue, err
}

// Pending is [Client.Pending]. It asks each time.
func (a *Agent) Pending(ctx context.Context) ([]Waits, error) { return a.client.Pending(ctx, a.id) }

// Describe is [Client.Describe]. A later call returns the same snapshot, unless [Agent.Send] has sent a message since.
func (a *Agent) Describe(ctx context.Context) (Snapshot, error) {
	_, snap, err := a.look(ctx)
	return snap, err
}

// look returns the sub-agents of the agent, and the same snapshot as [Agent.Describe]. If the agent has ended, look returns no
// sub-agents.
func (a *Agent) look(ctx context.Context) ([]agent.Child, Snapshot, error) {
	found, err := a.describe(ctx)
	if err != nil {
		return nil, Snapshot{}, err
	}
	snap := Snapshot{ID: a.id, Agent: found.agent, Task: found.task, Status: found.status, Started: found.started, Metadata: found.metadata}
	if found.status.Ended() {
		return nil, snap, nil
	}
	view, err := a.state(ctx)
	if err != nil {
		return nil, Snapshot{}, err
	}
	snap.Agent, snap.Status, snap.WaitsFor, snap.Count, snap.Digest = view.Agent, view.Status, view.WaitsFor, view.Messages, view.Digest
	snap.Retry, snap.ChildCount, snap.Usage, snap.Refused = found.retry, view.ChildCount, view.Usage, view.Refused
	snap.Answer, snap.FinishReason, snap.Stopped, snap.Limit, snap.Refusal = view.Answer, view.FinishReason, view.Turn.Stopped, view.Turn.Limit, view.Refusal
	spent := view.Usage.Spent()
	snap.Spent = &spent
	switch {
	case view.Hold != nil:
		snap.Failure, snap.Class = view.Hold.Message, view.Hold.Class
	case view.Outcome != nil:
		snap.Failure, snap.Class = view.Outcome.Message, view.Outcome.Class
	}
	return view.Children, snap, nil
}

// Await is [Client.Await].
func (a *Agent) Await(ctx context.Context, see func(Progress)) (Snapshot, error) {
	for ; ; sleep(ctx, awaitPause) {
		snap, err := a.Describe(ctx)
		switch {
		case err == nil:
			return snap, nil
		case ctx.Err() != nil:
			return Snapshot{}, a.client.wrapUnanswered(ctx, "ask", a.id, context.Cause(ctx))
		case !unanswered(err):
			return Snapshot{}, err
		}
		a.forget() // the agent may end while no worker answers
		if see != nil {
			down := a.client.temporalIsDown(ctx)
			see(Progress{NoServer: down, NoWorker: !down})
		}
	}
}

// Send is [Client.Send].
func (a *Agent) Send(ctx context.Context, m Message) (Sent, error) {
	own := m.ID == ""
	if own {
		m.ID = uuid.NewString()
	}
	sent := Sent{MessageID: m.ID}
	in := m.queued()
	signedBy(ctx, &in)
	if err := agent.CheckMessage(in); err != nil {
		return sent, fmt.Errorf("send to agent %q: %w", a.id, invalid(err))
	}
	var accepted protocol.Accepted
	var err error
	for range maxMoves {
		var asked agent.Key
		err = a.deliver(ctx, &accepted, in)
		if asked = asks(err); asked == "" {
			break
		}
		if m.Automatic {
			return sent, &agentError{fmt.Sprintf("agent %q waits for the answer of a person, so it takes no automatic message; send the message again when the question has its answer", a.id), []error{ErrRefused}}
		}
		err = a.client.Decide(ctx, Waits{AgentID: a.id, Call: agent.Call{Key: asked}}, agent.Decision{Result: &agent.GivenResult{Content: m.Text}, Message: m.ID})
		if err == nil {
			sent.Answered = asked
		}
		if !errors.Is(err, ErrRefused) { // another person may have answered
			return sent, err
		}
	}
	// If Send made the ID, only an earlier attempt of this call can have used it.
	sent.Duplicate, sent.Differs = accepted.Duplicate && !own, accepted.Differs
	return sent, err
}

// Reply is [Client.Reply].
func (a *Agent) Reply(ctx context.Context, messageID string, from int, see func(Progress)) (Snapshot, error) {
	return a.client.Reply(ctx, a.id, messageID, from, see)
}

// AwaitReply is [Client.AwaitReply].
func (a *Agent) AwaitReply(ctx context.Context, messageID string, from int, see func(Progress)) (Snapshot, error) {
	return a.client.AwaitReply(ctx, a.id, messageID, from, see)
}
