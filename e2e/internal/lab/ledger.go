package lab

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/llm"
)

// Ledger records the model requests that arrive, the tool calls that take effect, and the disturbances that the test causes.
// At the end, the test compares the ledger with the transcripts of the agents.
type Ledger struct {
	mu       sync.Mutex
	requests map[string][]request // the model requests, by key
	effects  map[string][]effect  // the tool calls that took effect, by key
	answers  map[string][]answer  // the replies that the model has given, by key
	troubles []trouble
}

// request is one request that the model got. The field place names the model call in the script, and began is the time of
// arrival.
type request struct {
	place string
	sent  []llm.Message
	began time.Time
}

// answer is a reply of the model, with what it cost and the times of the request and of the reply.
type answer struct {
	usage    llm.Usage
	from, to time.Time
}

// effect is a tool call that took effect, and the time at which it did.
type effect struct {
	world.Effect

	at time.Time
}

// trouble is one disturbance and the time from its beginning to its end. It affects the agent with the ID in the field agent, and
// the sub-agents below. If this field is empty, it affects all agents.
type trouble struct {
	agent, what string
	from, to    time.Time
}

// NewLedger returns an empty [Ledger].
func NewLedger() *Ledger {
	return &Ledger{requests: map[string][]request{}, effects: map[string][]effect{}, answers: map[string][]answer{}}
}

func (l *Ledger) asked(req llm.Request, place string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests[req.Key] = append(l.requests[req.Key], request{place, req.Messages, time.Now()})
}

func (l *Ledger) answered(key string, usage llm.Usage, from time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answers[key] = append(l.answers[key], answer{usage, from, time.Now()})
}

func (l *Ledger) done(e world.Effect) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.effects[e.Key] = append(l.effects[e.Key], effect{e, time.Now()})
}

// disturbed records a disturbance that ends now. The parameter agent is the ID of the disturbed agent; empty means all agents.
// The parameter what names the disturbance, and from is the time of its beginning.
func (l *Ledger) disturbed(agent, what string, from time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.troubles = append(l.troubles, trouble{agent, what, from, time.Now()})
}

// Disturbances returns how often each disturbance was recorded, by name.
func (l *Ledger) disturbances() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	counts := map[string]int{}
	for _, t := range l.troubles {
		counts[t.what]++
	}
	return counts
}

// troublesOf returns the disturbances of the agent with the given ID, in the order of their ends.
func (l *Ledger) troublesOf(id string) []trouble {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(l.troubles), func(t trouble) bool { return !t.concerns(id) })
}

// effected returns the tool calls that have taken effect until now, by key.
func (l *Ledger) effected() map[string][]effect {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.effects)
}

// span is the time between the request for a model or tool call and its result, according to the histories of the agents. The
// call was first scheduled at the time in the field scheduled. Temporal first had its result at the time in the field reported;
// zero means never.
type span struct {
	agent               string // the ID of the agent
	scheduled, reported time.Time
	// lost is the type of the timeout by which Temporal noticed that a worker with this call was lost; empty if there was none. A
	// worker that was not killed may seem lost if the machine is too busy for heartbeats.
	lost string
	// cancelled counts the runs that a cancel ended during the call. [Ledger.repeats] counts each of them as a disturbance.
	// The record of the cancel in the ledger may be too early for this, because on a stalled network the run ends later.
	cancelled int
	// attempts is the largest number of attempts that a run made. Temporal waits longer after each of them, up to a minute.
	attempts int32
}

// repeats returns the number of model requests, and the number of those that repeat an earlier request with the same key. It
// also returns a problem for each repetition that nothing explains. Each disturbance of the agent during the model call
// explains one repetition. An interrupt explains none, because the message that lets the turn go on makes it another request. If
// Temporal had the reply before a repetition, nothing explains the repetition. The parameter
// owners has the ID of the agent for each key; a key without an agent is a problem, too.
func (l *Ledger) repeats(owners map[string]string, spans map[string]span) (count, again int, problems []string) {
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
				if t.what != interrupted && t.concerns(owners[key]) && t.to.After(in.scheduled) && t.from.Before(r.began) {
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
