package gateway

import (
	"context"
	"errors"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/conversation"
	"github.com/reagent-dev/reagent/gateway/access"
)

// settle decides on calls and gives results, and returns where the section begins that follows.
func (g *Gateway) settle(ctx context.Context, to target, all []settled) (start, error) {
	if to.from == nil {
		p, err := g.past(ctx, to.id)
		if err != nil {
			return start{}, err
		}
		if to.from = p.last; to.from == nil {
			to.from = &section{}
		}
	}
	caller := access.FromContext(ctx)
	at := start{}
	for _, each := range all {
		waited, known := conversation.Event{}, false
		for _, e := range to.from.asks {
			if e.Wait.Key == each.key {
				waited, known = e, true
			}
		}
		if !known || (each.decision.Result == nil) != (waited.Wait.For == agent.WaitsForApproval) {
			return at, invalid("input", "no call "+quoted(string(each.key))+" waits for this in the previous response")
		}
		if waited.Wait.For != agent.WaitsForResult {
			if refused := caller.Require(access.Approve, to.agent); refused != nil {
				return at, forbidden(refused.Message)
			}
		}
		at = start{Reply: waited.Call.Reply, Round: waited.Wait.Round}
	}
	for _, each := range all {
		if err := g.decide(ctx, to, each, caller.Name); err != nil {
			return at, err
		}
	}
	return at, nil
}

// decide gives one decision. If the agent has the same one already, decide changes nothing.
func (g *Gateway) decide(ctx context.Context, to target, each settled, by string) error {
	d := each.decision
	if d.Result != nil {
		err := to.client.GiveResult(ctx, to.id, each.key, d.Result.Content, client.CompleteOptions{By: by})
		if errors.Is(err, client.ErrSettled) {
			return conflict("already_settled", "the call "+quoted(string(each.key))+" has another result already")
		}
		return err
	}
	d.Actor = agent.Actor{By: by}
	err := to.client.Decide(ctx, client.Waits{AgentID: to.id, Call: agent.Call{Key: each.key}}, d)
	if errors.Is(err, client.ErrRefused) {
		if same, unread := g.decided(ctx, to.id, each); unread == nil && same {
			return nil
		}
		return conflict("already_decided", "somebody has decided on the call "+quoted(string(each.key))+" before, and that decision stands")
	}
	return err
}

// decided reports whether the agent has the same decision on a call already.
func (g *Gateway) decided(ctx context.Context, id string, each settled) (bool, error) {
	for u, err := range g.client.Events(ctx, id, 0) {
		if err != nil {
			return false, err
		}
		for _, e := range u.Events {
			if e.Kind == conversation.Result && e.Message.Decider != nil && waitedFor(e.Message, each.key) {
				return e.Message.Decider.Denied == !each.decision.Approve, nil
			}
		}
		if u.Status != "" {
			for _, c := range u.Open {
				if c.Decider != nil && c.Key == each.key {
					return c.Decider.Denied == !each.decision.Approve, nil
				}
			}
			return false, nil
		}
	}
	return false, context.Cause(ctx)
}

func waitedFor(m *agent.Message, key agent.Key) bool {
	for _, w := range m.Waited {
		if w.Key == key {
			return true
		}
	}
	return false
}
