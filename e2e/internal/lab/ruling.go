package lab

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/reagent-dev/reagent/agent"
)

// ruling is the decision of people on a call that needs an approval. The field accepted is zero while it is not known that the agent has
// accepted the decision.
type ruling struct {
	agent, tool    string
	decision       agent.Decision
	sent, accepted time.Time
}

// revocation is the revocation of a permission. The field accepted is zero while it is not known that the agent has accepted it.
type revocation struct{ sent, accepted time.Time }

// temper returns the decision of a person of TestChaos on a call. Some calls are denied, and some approvals permit later calls of the
// tool. The decision depends only on the key of the call, so a person who decides again decides the same.
func (c *chaos) temper(call agent.Call) agent.Decision {
	h := fnv.New32a()
	_, _ = h.Write([]byte(call.Key))
	switch n := h.Sum32() % 8; {
	case n < 2 && !c.without["deny"]:
		return agent.Decision{Reason: "not today"}
	case n >= 2 && n < 4 && !c.without["permit"]:
		return agent.Decision{Approve: true, Remember: agent.RememberTool}
	}
	return agent.Decision{Approve: true}
}

// revoke revokes a random permission of an agent.
func (c *chaos) revoke(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	all, err := c.Client.Permissions(ctx, id)
	if err != nil || len(all) == 0 {
		return errors.Join(err, errNothing)
	}
	key := all[c.random.IntN(len(all))].Key
	r := c.people.revokes(key)
	if err := c.Client.Revoke(ctx, id, key); err != nil {
		return err
	}
	c.people.mu.Lock()
	defer c.people.mu.Unlock()
	r.accepted = time.Now()
	return nil
}

// revokes records that somebody revokes a permission.
func (p *people) revokes(permission agent.Key) *revocation {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := &revocation{sent: time.Now()}
	if p.revocations[permission] == nil {
		p.revocations[permission] = r
	}
	return p.revocations[permission]
}

// breach says how the effects of a call break what people have decided. It returns "" if they do not. The law: what a person has decided
// in any run of an agent holds in every run.
//
//   - A call whose denial the agent has accepted never takes effect: not before the denial either, because a call that has taken effect has
//     a result and does not wait.
//   - Any other call takes effect only after its own approval was sent, or if it was opened while the agent had a permission: after the
//     approval that gives it was sent, and before a revocation was accepted. A call that was opened under a permission may still take
//     effect when the permission is revoked.
//
// If runs of the agent were deleted (forgotten), the agent may ask again about a call that took effect, and may not know of a revocation.
// But a denial holds from then on. The parameter opened is the time at which any run first scheduled the call.
func (p *people) breach(key, owner string, effects []effect, opened time.Time, forgotten bool) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	own := p.rulings[agent.Key(key)]
	for _, e := range effects {
		switch began := earlier(opened, e.at); {
		case own != nil && !own.decision.Approve && !own.accepted.IsZero():
			if !forgotten || e.at.After(own.accepted) {
				return fmt.Sprintf("a person has denied it at %v, and it took effect at %v", clock(own.accepted), clock(e.at))
			}
		case own != nil && own.decision.Approve && own.sent.Before(e.at), p.permitted(owner, e.Tool, began, forgotten):
		default:
			return fmt.Sprintf("it was opened at %v and took effect at %v, and nobody has approved it%s", clock(began), clock(e.at), p.permissions(owner))
		}
	}
	return ""
}

// permitted reports whether the agent may have had a permission for a tool at a time. The caller holds p.mu.
func (p *people) permitted(owner, tool string, at time.Time, forgotten bool) bool {
	for key, g := range p.rulings {
		if g.agent != owner || g.tool != tool || g.decision.Remember != agent.RememberTool || !g.sent.Before(at) {
			continue
		}
		if r := p.revocations[key]; forgotten || r == nil || r.accepted.IsZero() || !r.accepted.Before(at) {
			return true
		}
	}
	return false
}

// permissions says which permissions the agent has had, and since when they are revoked. The caller holds p.mu.
func (p *people) permissions(owner string) string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(p.rulings)) {
		g := p.rulings[key]
		if g.agent != owner || g.decision.Remember == "" {
			continue
		}
		fmt.Fprintf(&b, "; %s permits %s from %s", key, g.tool, clock(g.sent))
		if r := p.revocations[key]; r != nil && !r.accepted.IsZero() {
			fmt.Fprintf(&b, " to %s", clock(r.accepted))
		}
	}
	return b.String()
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05.000") }

// persons returns the IDs of the agents that have accepted a decision.
func (p *people) persons() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var ids []string
	for _, id := range p.accepted {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// rulingCounts returns how many decisions the agents have accepted, by kind.
func (p *people) rulingCounts() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	counts := map[string]int{}
	for _, r := range p.rulings {
		switch {
		case r.accepted.IsZero():
		case !r.decision.Approve:
			counts["denials"]++
		case r.decision.Remember != "":
			counts["approvals with a permission"]++
		default:
			counts["approvals"]++
		}
	}
	for _, r := range p.revocations {
		if !r.accepted.IsZero() {
			counts["revocations"]++
		}
	}
	return counts
}
