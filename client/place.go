package client

import (
	"context"
	"errors"

	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
)

// maxMoves is how often the client tries a request that the agent refuses because it has gone on since the client looked at it: see
// [protocol.Moved] and, for [Agent.Send], [protocol.AwaitsAnswer].
const maxMoves = 20

// deliver sends a message to the agent and decodes the agent's reply into `out`. It sets the fields `Run` and `After` of the
// message: see [agent.QueuedMessage]. After a reset of the agent, Temporal delivers the message again, and from these two
// fields the agent knows at which position in the transcript it has to take the message again.
//
// Only a steering message has `After`. If the value is out of date, the agent refuses the message, and deliver sends it again
// with the new value. After [maxMoves] attempts, deliver sends the message without `After`, so that no value can be out of date.
func (a *Agent) deliver(ctx context.Context, out *protocol.Accepted, in agent.QueuedMessage) error {
	defer a.forget() // the agent has the message
	for range maxMoves {
		in.Run, in.After = a.place(ctx, in.Steer)
		err := a.client.update(ctx, a.id, out, protocol.MessageUpdate, in)
		if moved, ok := errors.AsType[*temporal.ApplicationError](err); !ok || moved.Type() != protocol.Moved {
			return err
		}
		a.forget()
	}
	in.After = 0
	return a.client.update(ctx, a.id, out, protocol.MessageUpdate, in)
}

// place returns the values for the fields `Run` and `After` of a message that the caller is going to send: see [Agent.deliver].
// If Temporal or the worker does not answer, place returns zero values. The caller then sends the message without these fields,
// and gets an error if there is still no answer.
func (a *Agent) place(ctx context.Context, steer bool) (run string, after int) {
	ended := a.found != nil && a.found.status.Ended() // no worker may answer for it
	if a.view == nil && (!steer || ended) {
		found, _ := a.describe(ctx) // zero after an error
		return protocol.RunSuffix(found.runID), 0
	}
	view, _ := a.state(ctx) // zero after an error
	if !steer {
		return view.Run, 0
	}
	return view.Run, view.Entry
}

// asks returns the key of the call that waits for a person's answer, if this is why the agent has refused a message: see
// [protocol.AwaitsAnswer]. In all other cases it returns "".
func asks(err error) agent.Key {
	var key agent.Key
	if refused, ok := errors.AsType[*temporal.ApplicationError](err); ok && refused.Type() == protocol.AwaitsAnswer && refused.Details(&key) == nil {
		return key
	}
	return ""
}
