package faults_test

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/llm"
)

// ledger is what the far side saw, and what was done to the near side.
type ledger struct {
	mu       sync.Mutex
	requests map[string][]request      // of the model, by key
	effects  map[string][]world.Effect // of the tools, by key
	troubles []trouble
}

// request is one time that the model was asked.
type request struct {
	place string
	sent  []llm.Message
	began time.Time
}

// trouble is a disturbance of an agent and those below it; of all where it names none.
type trouble struct {
	agent, what string
	from, to    time.Time
}

func newLedger() *ledger {
	return &ledger{requests: map[string][]request{}, effects: map[string][]world.Effect{}}
}

func (l *ledger) asked(req llm.Request, place string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests[req.Key] = append(l.requests[req.Key], request{place, req.Messages, time.Now()})
}

func (l *ledger) done(e world.Effect) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.effects[e.Key] = append(l.effects[e.Key], e)
}

// disturbed notes a trouble that is just over.
func (l *ledger) disturbed(agent, what string, from time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.troubles = append(l.troubles, trouble{agent, what, from, time.Now()})
}

// disturbances counts the troubles of each kind.
func (l *ledger) disturbances() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	counts := map[string]int{}
	for _, t := range l.troubles {
		counts[t.what]++
	}
	return counts
}

// effected returns a copy of the effects.
func (l *ledger) effected() map[string][]world.Effect {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.effects)
}

// span is when Temporal first had an effect as asked for, and when its result; zero where it never had.
type span struct {
	agent               string // the ID of the agent
	scheduled, reported time.Time
	// lost is the kind of timeout for which Temporal took a worker for lost that had the effect. Without a
	// kill that is a machine that is too busy for heartbeats.
	lost string
	// cancelled counts the runs that a cancel ended while the effect was under way. Where the network stalls, a cancel is heard of later
	// than it was sent.
	cancelled int
}

// repeats counts the requests of the model, and those that had been made before. Those have to have
// been in flight: for each there is a trouble of its agent between the time when the effect was
// asked for and the new request, before which Temporal had no reply. Whether the request before had
// reached the model by then does not count: a reset or a termination does not stop an activity that
// is on its way. Owners names the agent of a key.
func (l *ledger) repeats(owners map[string]string, spans map[string]span) (count, again int, problems []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, all := range l.requests {
		count += len(all)
		again += len(all) - 1
		if owners[key] == "" {
			problems = append(problems, fmt.Sprintf("%s was asked for, and the reply is in no transcript: %v", key, all[0].sent))
		}
		for i, r := range all[1:] {
			in := spans[key]
			troubles := in.cancelled
			if !in.reported.IsZero() && in.reported.Before(r.began) {
				problems = append(problems, fmt.Sprintf("%s: %s (%s) was asked for again %v after Temporal had its reply",
					owners[key], key, r.place, r.began.Sub(in.reported)))
			}
			for _, t := range l.troubles {
				if t.concerns(owners[key]) && t.to.After(in.scheduled) && t.from.Before(r.began) {
					troubles++
				}
			}
			if repeats := i + 1; troubles < repeats {
				problems = append(problems, fmt.Sprintf("%s: %s (%s) was repeated %d times, and %d things had happened to it (timeout: %q)",
					owners[key], key, r.place, repeats, troubles, in.lost))
			}
		}
	}
	return count, again, problems
}

func (t trouble) concerns(agent string) bool {
	return t.agent == "" || t.agent == agent || strings.HasPrefix(agent, t.agent+"/")
}
