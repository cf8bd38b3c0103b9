package client

import (
	"cmp"
	"context"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/traceparent"
	"github.com/reagent-dev/reagent/internal/whoami"
)

// signedBy gives a message its sender, and the trace of the span in the context, if there is one. The message may be nil.
func signedBy(ctx context.Context, m *agent.QueuedMessage) {
	if m != nil {
		m.Actor = stated(m.Actor)
		m.Traceparent = traceparent.In(ctx)
	}
}

// stated returns the actor with the user and the machine of this process, where the caller names nobody else.
func stated(a agent.Actor) agent.Actor {
	return agent.Actor{By: cmp.Or(a.By, whoami.User()), From: cmp.Or(a.From, whoami.Machine())}
}
