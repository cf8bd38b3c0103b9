package lab

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/reagent-dev/reagent/agent"
	reagent "github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/app/audit"
	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/whoami"
)

// trails has what the audit trails of agents say, by the keys of calls.
type trails struct {
	called, ended, did, attempts map[string]int
	decided                      map[object.Act]map[agent.Key]bool
}

// judgeTrails compares the audit trails of agents with the ledger, and with what people have decided. It leaves out agents of which runs were
// deleted. The law:
//
//   - Each call that took effect was called. It took effect at most as often as it was attempted.
//   - Each call of an at-most-once tool whose result is in the trail took effect, and returned once.
//   - Each decision and revocation that an agent has accepted is there, with the name of who has made it.
func (c *chaos) judgeTrails(ctx context.Context, v *Verdict, ids []string) {
	t := trails{called: map[string]int{}, ended: map[string]int{}, did: map[string]int{}, attempts: map[string]int{}, decided: map[object.Act]map[agent.Key]bool{}}
	known := map[string]bool{}
	for _, id := range ids {
		if !c.isForgotten(id) {
			known[id] = c.readTrail(ctx, v, id, t.add)
		}
	}
	for key, effects := range v.seen {
		tool, open := effects[0].Tool, t.called[key] > t.ended[key]
		switch owner := v.owners[key]; {
		case !known[owner]:
		case t.called[key] == 0:
			v.problemf("%s: %s %s took effect, and is not in the audit trail: %s", owner, tool, effects[0].Arguments, key)
		case len(effects) > t.attempts[key] && !open:
			v.problemf("%s: %s %s took effect %d times, and the audit trail has %d attempts: %s", owner, tool, effects[0].Arguments, len(effects), t.attempts[key], key)
		case atMostOnce(tool+" ") && t.did[key] > len(effects):
			v.problemf("%s: %s took effect %d times, and the audit trail has %d results: %s", owner, tool, len(effects), t.did[key], key)
		}
	}
	p := c.people
	p.mu.Lock()
	defer p.mu.Unlock()
	lacks := func(id string, act object.Act, key agent.Key) {
		if known[id] && !t.decided[act][key] {
			v.problemf("%s: the audit trail does not have that the call %s was %s by %s", id, key, act, whoami.User())
		}
	}
	for key, r := range p.rulings {
		switch {
		case r.accepted.IsZero():
		case r.decision.Approve:
			lacks(r.agent, "approved", key)
		default:
			lacks(r.agent, "denied", key)
		}
	}
	for w, id := range p.accepted {
		if w.on != agent.WaitsForApproval {
			lacks(id, "given", w.call)
		}
	}
	for key, r := range p.revocations {
		if g := p.rulings[key]; g != nil && !r.accepted.IsZero() {
			lacks(g.agent, "revoked", key)
		}
	}
}

// readTrail reads the trail of an agent. It reports whether Temporal has the agent.
func (c *chaos) readTrail(ctx context.Context, v *Verdict, id string, add func(object.AuditLine) error) bool {
	histories, err := c.Client.Histories(ctx, id)
	if errors.Is(err, reagent.ErrNotFound) {
		return false
	}
	var runs []audit.Run
	for _, h := range histories {
		runs = append(runs, audit.Run(h))
	}
	t, begun := audit.Begin(audit.Scope{ID: id}, time.Now(), add)
	if err = errors.Join(err, begun); err == nil {
		err = t.Add(runs)
	}
	if err != nil {
		v.problemf("%s: its audit trail cannot be read: %v", id, err)
	}
	return err == nil
}

func (t trails) add(l object.AuditLine) error {
	key := string(l.Key)
	switch l.Act {
	case "called":
		t.called[key]++
	case "recalled":
		t.ended[key]++
	case "returned":
		t.ended[key]++
		t.attempts[key] += l.Attempt
		if l.Class == "" && strings.HasPrefix(l.Content, "did ") {
			t.did[key]++
		}
	case "approved", "denied", "given", "revoked":
		// Temporal knows no name of who revokes a permission but that of the client.
		if l.By != whoami.User() && l.Act != "revoked" {
			return nil
		}
		if t.decided[l.Act] == nil {
			t.decided[l.Act] = map[agent.Key]bool{}
		}
		t.decided[l.Act][l.Key] = true
	}
	return nil
}
