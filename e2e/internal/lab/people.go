package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reagent-dev/reagent/agent"
	reagent "github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/llm"
)

// people plays a hook, and the people whom the hook notifies: they approve calls, answer questions and give results from outside. A
// person acts only on a call about which the hook was notified, and decides only once if the agent has accepted the decision. So an
// agent never ends if it loses a notification or a decision.
type people struct {
	// url is the address of the hook.
	url string
	// choose returns the decision on a call that waits for an approval. It always returns the same for the same call. If it is nil, people
	// approve each call.
	choose func(agent.Call) agent.Decision

	mu sync.Mutex
	// notified has the keys of the notifications that the hook has got, by what they are about.
	notified map[wait][]string
	bodies   map[string]string // the notifications without what is momentary, by key
	ended    map[string]bool   // the agents that have notified the hook of their end, by agent ID
	accepted map[wait]string   // the IDs of the agents that have accepted the decisions
	// rulings are the decisions on approvals that were sent. revocations are the permissions that people have revoked.
	rulings     map[agent.Key]*ruling
	revocations map[agent.Key]*revocation
	// deliveries counts the requests to the hook.
	deliveries int
	problems   []string
}

// wait identifies one wait for a person: the call, and what it waits for. The same call may first wait for an approval, and later for
// its result.
type wait struct {
	call agent.Key
	on   agent.WaitsFor
}

func newPeople(t testing.TB) *people {
	p := &people{
		notified: map[wait][]string{}, bodies: map[string]string{}, ended: map[string]bool{}, accepted: map[wait]string{},
		rulings: map[agent.Key]*ruling{}, revocations: map[agent.Key]*revocation{},
	}
	hook := httptest.NewServer(http.HandlerFunc(p.notify))
	t.Cleanup(hook.Close)
	p.url = hook.URL
	return p
}

// momentary matches what a notification says about its moment: the time, and whether the agent also works on something else. After a
// reset, an agent makes the same notification again, at another moment.
var momentary = regexp.MustCompile(`"timestamp":"[^"]*",|"status":"(running|waiting)",`)

// notify records a notification. It is the handler of the hook.
func (p *people) notify(_ http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var n struct {
		Type, Key string
		Data      struct {
			AgentID string `json:"agent_id"`
			Calls   []struct {
				Key      agent.Key
				WaitsFor agent.WaitsFor `json:"waits_for"`
			}
		}
	}
	err := json.Unmarshal(body, &n)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deliveries++
	text := momentary.ReplaceAllString(string(body), "")
	earlier, again := p.bodies[n.Key]
	switch {
	case err != nil || n.Key == "" || n.Key != r.Header.Get("Webhook-Id"):
		p.problems = append(p.problems, fmt.Sprintf("not a notification: %v %v %s", err, r.Header, body))
	case again && earlier != text:
		p.problems = append(p.problems, fmt.Sprintf("two notifications have one key: %s and %s", earlier, text))
	}
	p.bodies[n.Key] = text
	p.ended[n.Data.AgentID] = p.ended[n.Data.AgentID] || n.Type == "agent.ended"
	for _, c := range n.Data.Calls {
		if w := (wait{c.Key, c.WaitsFor}); !slices.Contains(p.notified[w], n.Key) {
			p.notified[w] = append(p.notified[w], n.Key)
		}
	}
}

// decide lets a person decide on a call of the agent with the given ID. If the request fails, the person tries again with the next
// look at the agent.
func (p *people) decide(ctx context.Context, c *reagent.Client, id string, call agent.Call) {
	w := wait{call.Key, call.WaitsFor()}
	decision := agent.Decision{Approve: true}
	if w.on != agent.WaitsForApproval {
		decision = agent.Decision{Result: &agent.GivenResult{Content: givenFor(call.Name)}}
	} else if p.choose != nil {
		decision = p.choose(call)
	}
	p.mu.Lock()
	ready := len(p.notified[w]) > 0 && p.accepted[w] == ""
	if ready && w.on == agent.WaitsForApproval && p.rulings[w.call] == nil {
		p.rulings[w.call] = &ruling{agent: id, tool: call.Name, decision: decision, sent: time.Now()}
	}
	p.mu.Unlock()
	if !ready || c.Decide(ctx, reagent.Waits{AgentID: id, Call: call}, decision) != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.accepted[w] = id
	if r := p.rulings[w.call]; w.on == agent.WaitsForApproval && r.accepted.IsZero() {
		r.accepted = time.Now()
	}
}

// givenFor returns the result from outside, or the answer of a person, for a call of the given tool.
func givenFor(tool string) string { return "given for " + tool }

// forget lets people decide again on the calls of an agent.
func (p *people) forget(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.accepted, func(_ wait, agent string) bool { return agent == id })
}

// settle plays the people of the planner with the given ID until it has completed. They decide when the planner knows the answer of the
// clerk, so that this answer always enters the transcript at the same place.
func (p *people) settle(ctx context.Context, c *reagent.Client, id string) error {
	return until(ctx, "people have settled its calls", func(ctx context.Context) (bool, error) {
		snap, err := c.ShowRecorded(ctx, id)
		known := len(snap.Queue) > 0 || slices.ContainsFunc(snap.Messages, func(m agent.Message) bool {
			return m.Role == llm.User && m.Content == clerkAnswers
		})
		if err == nil && known {
			for _, call := range snap.Pending {
				if call.Waits() {
					p.decide(ctx, c, id, call)
				}
			}
		}
		return snap.Status == reagent.Completed || snap.Status == reagent.Failed, err
	})
}

// hold compares the lines of an agent with the decisions that the agent has accepted. It reports a problem for each decision that is lost. The
// agent may have been cancelled or interrupted. Then two differences are allowed:
//   - A call may not have run although a person has approved it.
//   - The transcript may have the result from outside of a call in a later message.
func (p *people) hold(v *Verdict, id string, lines []line) {
	p.mu.Lock()
	defer p.mu.Unlock()
	late := map[string]string{}
	for _, m := range lines {
		if key, ok := lateOf(m.key); ok {
			_, late[key], _ = strings.Cut(m.content, "\n\n")
		}
	}
	for _, m := range lines {
		if tool, _, _ := strings.Cut(m.answers, " "); p.lost(m) && late[m.key] != givenFor(tool) {
			v.problemf("%s: the decision on %s was accepted and lost: %q in %v", id, m.answers, m.content, lines)
		}
	}
}

// lost reports whether a call has another result than the one that a person has given it, by a denial or by an answer. The caller holds
// p.mu.
func (p *people) lost(m line) bool {
	tool, _, _ := strings.Cut(m.answers, " ")
	key := agent.Key(m.key)
	if r := p.rulings[key]; r != nil && !r.decision.Approve && !r.accepted.IsZero() {
		return !strings.HasPrefix(m.content, "denied: ")
	}
	return p.accepted[wait{key, agent.WaitsForAnswer}]+p.accepted[wait{key, agent.WaitsForResult}] != "" && m.content != givenFor(tool)
}

// approved reports whether a person has approved the call with the given key.
func (p *people) approved(key string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.rulings[agent.Key(key)]
	return r != nil && r.decision.Approve
}

// knowsEnd reports whether the hook was notified of the end of the agent with the given ID.
func (p *people) knowsEnd(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended[id]
}

// renotified returns the waits about which the hook was notified under several keys. If a run is reset to a task before its calls, and
// some of the calls were decided before the reset, the others wait together: this is another notification.
func (p *people) renotified() (all []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for w, keys := range p.notified {
		if len(keys) > 1 {
			all = append(all, fmt.Sprintf("%s for %s: %v", w.call, w.on, keys))
		}
	}
	return all
}

// judge adds the counts of decisions and notifications to v, and the problems of the hook.
func (p *people) judge(v *Verdict) {
	p.mu.Lock()
	defer p.mu.Unlock()
	v.Problems = append(v.Problems, p.problems...)
	v.decisions, v.notifications, v.redelivered = len(p.accepted), len(p.bodies), p.deliveries-len(p.bodies)
}
