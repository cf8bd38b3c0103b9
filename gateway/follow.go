package gateway

import (
	"context"
	"errors"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/conversation"
)

// outcome says what has become of a section.
type outcome struct {
	ending
	// class and reason say why the section has failed, or why a guardrail has refused the message.
	class, reason string
}

// errNotThere says that the agent has no section that begins where the request says.
var errNotThere = errors.New("the agent has no such message")

// viewer shows a section as it grows.
type viewer interface {
	// begin is called when the beginning of the section was read.
	begin()
	see(e conversation.Event)
}

// follow reads the list of events of an agent, and shows the section to `v`, which may be nil. It returns when the section has ended. If
// `whole` is false, it also returns when all that is recorded was read.
func (g *Gateway) follow(ctx context.Context, id string, s *section, whole bool, v viewer) (outcome, error) {
	begun, list := false, g.client.Events(ctx, id, 0)
	if g.hold {
		list = g.client.RecordedEvents(ctx, id, 0)
	}
	for u, err := range list {
		if err != nil {
			return outcome{}, err
		}
		for _, e := range u.Events {
			belongs := s.read(e)
			if v == nil {
				continue
			}
			if s.begun && !begun {
				begun = true
				v.begin()
			}
			if belongs {
				v.see(e)
			}
		}
		if u.Status != "" {
			s.settle()
		}
		if s.end != running {
			return outcome{ending: s.end}, nil
		}
		if u.NoWorker && !whole {
			return outcome{}, nil // nobody has begun it
		}
		if o, over := s.status(u.Progress); over || !whole && u.Status != "" {
			if !over && !s.begun && u.WaitsFor == client.WaitsForMessage {
				return outcome{}, errNotThere
			}
			return o, nil
		}
	}
	if err := context.Cause(ctx); err != nil {
		return outcome{}, err
	}
	return outcome{}, errNotThere
}

// status returns what the status of the agent says of a section that the list does not end, and whether the section is over for now.
func (s *section) status(p client.Progress) (outcome, bool) {
	snap := p.Snapshot
	if snap == nil {
		return outcome{}, false
	}
	if reply := snap.RefusedMessage(s.from.Message); s.from.Message != "" && reply != "" {
		return outcome{ending: refused, reason: reply}, true
	}
	switch {
	case p.Status == client.Held && snap.Class == agent.Interrupted, p.Status == client.Cancelled:
		return outcome{ending: cancelled, reason: "the turn was interrupted"}, s.begun
	case p.Status == client.Held, p.Status.Ended() && p.Status != client.Completed:
		return outcome{ending: failed, class: snap.Class, reason: snap.Failure}, s.begun
	}
	return outcome{}, false
}
