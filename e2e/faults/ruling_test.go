package faults_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/llm"
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

// temper returns the decision of a person of [TestChaos] on a call. Some calls are denied, and some approvals permit later calls of the
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

// [people.breach] finds each way to break the law, and nothing else.
func TestLawOfPeopleIsCheckedInChaos(t *testing.T) {
	start := time.Now()
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	approve, permit, deny := agent.Decision{Approve: true}, agent.Decision{Approve: true, Remember: agent.RememberTool}, agent.Decision{}
	own := func(d agent.Decision, sent, accepted int) map[agent.Key]*ruling {
		r := &ruling{agent: "a", tool: "wire", decision: d, sent: at(sent)}
		if accepted > 0 {
			r.accepted = at(accepted)
		}
		return map[agent.Key]*ruling{"b": r}
	}
	// The agent has a permission from second 10, which may be revoked at second 20.
	under := func(rulings map[agent.Key]*ruling) map[agent.Key]*ruling {
		if rulings == nil {
			rulings = map[agent.Key]*ruling{}
		}
		rulings["a"] = &ruling{agent: "a", tool: "wire", decision: permit, sent: at(10), accepted: at(10)}
		return rulings
	}
	revoked := map[agent.Key]*revocation{"a": {sent: at(19), accepted: at(20)}}
	for _, test := range []struct {
		name              string
		rulings           map[agent.Key]*ruling
		revocations       map[agent.Key]*revocation
		opened, effect    int
		forgotten, breach bool
	}{
		{name: "approved", rulings: own(approve, 1, 2), opened: 2, effect: 3},
		{name: "approved, and nobody heard that it was accepted", rulings: own(approve, 1, 0), opened: 2, effect: 3},
		{name: "approved later", rulings: own(approve, 4, 5), opened: 2, effect: 3, breach: true},
		{name: "nobody decided", opened: 2, effect: 3, breach: true},
		{name: "denied", rulings: own(deny, 1, 2), opened: 3, effect: 3, breach: true},
		{name: "denied after its effect", rulings: own(deny, 4, 5), opened: 2, effect: 3, breach: true},
		{name: "denied in vain, and permitted", rulings: under(own(deny, 12, 0)), opened: 13, effect: 14},
		{name: "denied beside a permission", rulings: under(own(deny, 12, 13)), opened: 14, effect: 15, breach: true},
		{name: "denied, and permitted before", rulings: under(own(deny, 22, 23)), opened: 12, effect: 13, breach: true},
		{name: "permitted", rulings: under(nil), opened: 11, effect: 12},
		{name: "permitted later", rulings: under(nil), opened: 9, effect: 12, breach: true},
		{name: "revoked", rulings: under(nil), revocations: revoked, opened: 21, effect: 22, breach: true},
		{name: "revoked while it ran", rulings: under(nil), revocations: revoked, opened: 18, effect: 22},
		{name: "revoked, and approved", rulings: under(own(approve, 21, 22)), revocations: revoked, opened: 22, effect: 23},
		{name: "a revocation was deleted", rulings: under(nil), revocations: revoked, opened: 21, effect: 22, forgotten: true},
		{name: "the run that had the effect was deleted", rulings: own(deny, 4, 5), opened: 2, effect: 3, forgotten: true},
		{name: "denied after a deletion", rulings: own(deny, 1, 2), opened: 3, effect: 3, forgotten: true, breach: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := &people{rulings: test.rulings, revocations: test.revocations}
			effects := []effect{{world.Effect{Key: "b", Tool: "wire"}, at(test.effect)}}
			found := p.breach("b", "a", effects, at(test.opened), test.forgotten)
			require.Equal(t, test.breach, found != "", found)
		})
	}
}

// A denial and a result from outside that an agent has accepted are in its transcript, if need be by a later message.
func TestLostDecisionIsSeenInChaos(t *testing.T) {
	result := func(content string) line { return line{key: "tool-k", answers: `deploy {"n":1}`, content: content} }
	late := line{key: agent.KindLate + "-k", role: llm.User, content: lateResult + "1 of deploy, which had no result, has its result now:\n\n" + givenFor("deploy")}
	denied := &people{rulings: map[agent.Key]*ruling{"tool-k": {accepted: time.Now()}}}
	given := &people{accepted: map[wait]string{{"tool-k", agent.WaitsForResult}: "a"}}
	for _, test := range []struct {
		name   string
		people *people
		lines  []line
		lost   bool
	}{
		{"denied", denied, []line{result("denied: a person refused this call")}, false},
		{"denied and told otherwise", denied, []line{result("not run: the agent was cancelled")}, true},
		{"given", given, []line{result(givenFor("deploy"))}, false},
		{"given and not told", given, []line{result("no result: outcome unknown")}, true},
		{"given after an interrupt", given, []line{result("no result: outcome unknown"), late}, false},
	} {
		v := &verdict{}
		test.people.hold(v, "a", test.lines)
		require.Equal(t, test.lost, len(v.problems) > 0, test.name)
	}
}
