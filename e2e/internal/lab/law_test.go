package lab

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/llm"
)

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
		v := &Verdict{}
		test.people.hold(v, "a", test.lines)
		require.Equal(t, test.lost, len(v.Problems) > 0, test.name)
	}
}
