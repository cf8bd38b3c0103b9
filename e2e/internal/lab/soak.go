package lab

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

// soakTime is the time limit for the disturbed agents of TestSoak.
const soakTime = 15 * time.Minute

// Soak holds everything that TestSoak needs and records.
type Soak struct {
	*surroundings

	size int // the number of agents
	far  *far
	// finished counts the agents that have completed once.
	finished atomic.Int32

	undisturbed map[string]Told // what an undisturbed agent says, by scenario
	troubled    map[string]int  // how often each agent was disturbed, by agent ID

	mu     sync.Mutex
	agents map[string]Scenario // the scenarios of the started agents, by agent ID
	works  map[string]bool     // the IDs of the agents that have not completed yet
	// stoppable has the IDs of the agents that may be interrupted.
	stoppable map[string]bool
	forks     []fork
}

// fork is an agent that was forked from another agent. The field at is the number of messages that it got from the other agent.
type fork struct {
	id, from string
	at       int
	scenario Scenario
}

// NewSoak starts the model, the tools, a server and three workers for a soak with the given number of agents.
func NewSoak(t *testing.T, size int) *Soak {
	s := &Soak{
		surroundings: newSurroundings(t, Seed(t)), size: size,
		undisturbed: map[string]Told{}, troubled: map[string]int{}, agents: map[string]Scenario{}, works: map[string]bool{},
		stoppable: map[string]bool{},
	}
	s.far = &far{ledger: s.ledger, unscripted: afterInterrupt}
	s.far.asked, s.far.called, s.far.paid = s.takeTime(), s.takeTime(), s.takeTime()
	s.begin(t, s.far.model, s.far.tool, teamOf(s.people.url))
	s.crew = s.workers(3)
	return s
}

// Run lets the agents work under disturbances until all have completed. It returns what it finds when it compares them with undisturbed
// agents, and the IDs of all agents and their sub-agents.
func (s *Soak) Run() (*Verdict, []string) {
	began := time.Now()
	s.T.Logf("seed %d", s.seed)
	s.undisturb()

	ctx, cancel := context.WithTimeout(s.T.Context(), soakTime)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- s.converseAll(ctx) }()
	err := s.disturbUntil(ctx, done)
	for _, id := range s.everyone() {
		if err != nil {
			break
		}
		if err = s.attended(ctx, id, func() error { return completed(ctx, s.Client, id) }); err != nil {
			err = fmt.Errorf("%s: %w", id, err)
		}
	}
	if err != nil {
		s.logAgents(err.Error())
	}
	require.NoError(s.T, err)
	worked := time.Since(began)
	v, ids := s.judge()
	s.T.Logf("seed %d, %v of work, %v of judging\n%v\n%v", s.seed, worked.Round(time.Second),
		(time.Since(began) - worked).Round(time.Second), s.counts(), v.Tally)
	s.logAgents(v.Problems...)
	return v, ids
}

// RequireReplay asserts that a replay of the histories of agents leads to the states that the workers recorded, and to what the agents
// report.
func (s *Soak) RequireReplay(t *testing.T, ids []string) {
	requireSameStates(t, s.Temporal, s.dir, ids)
	for _, id := range ids {
		t.Run("history and query of "+id, func(t *testing.T) {
			w := *s.World
			w.T = t
			w.Compare(id)
		})
	}
}

// undisturb runs one agent for each scenario without disturbances, and stores what it says in s.undisturbed.
func (s *Soak) undisturb() {
	var all errgroup.Group
	for _, sc := range Scenarios {
		id := "undisturbed-" + strings.ReplaceAll(sc.Name, " ", "-") + "-" + s.Queue
		s.agents[id] = sc
		all.Go(func() error { return converse(s.T.Context(), s.Client, id, sc, s.people) })
	}
	require.NoError(s.T, all.Wait())
	for id, sc := range s.agents {
		got, err := tell(s.T.Context(), s.Client, id)
		require.NoError(s.T, err)
		s.undisturbed[sc.Name] = got
	}
}

// converseAll runs all agents, a limited number at a time, and waits until they have completed.
func (s *Soak) converseAll(ctx context.Context) error {
	var all errgroup.Group
	all.SetLimit(max(6, s.size/6))
	random := rand.New(rand.NewPCG(s.seed, 3))
	for i := range s.size {
		sc := Scenarios[random.IntN(len(Scenarios))]
		stoppable := random.IntN(interruptible) == 0
		all.Go(func() error {
			id := fmt.Sprint(s.Queue, "-", i)
			s.mu.Lock()
			s.agents[id], s.works[id], s.stoppable[id] = sc, true, stoppable
			s.mu.Unlock()
			err := s.attended(ctx, id, func() error { return converse(ctx, s.Client, id, sc, s.people) })
			s.finished.Add(1)
			s.mu.Lock()
			delete(s.works, id)
			s.mu.Unlock()
			return err
		})
	}
	return all.Wait()
}

// logAgents logs each agent to which one of the given problems belongs: see [surroundings.logAgent]. Such a problem begins with the ID
// of the agent, or of a sub-agent.
func (s *Soak) logAgents(problems ...string) {
	for _, id := range s.everyone() {
		if slices.ContainsFunc(problems, func(text string) bool { return strings.HasPrefix(text, id+":") || strings.HasPrefix(text, id+"/") }) {
			s.logAgent(id)
		}
	}
}

// counts returns a table: how often each disturbance happened, and how many agents there were for each scenario.
func (s *Soak) counts() string {
	counts := s.ledger.disturbances()
	for id, sc := range s.agents {
		if !strings.HasPrefix(id, "undisturbed") {
			counts["asked for: "+sc.Name]++
			if s.extras.wasInterrupted(id) {
				counts["agents that were interrupted"]++
			}
		}
	}
	var b strings.Builder
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&b, "%6d  %s\n", counts[what], what)
	}
	return b.String()
}

// everyone returns the IDs of all agents that the test has started, and of the forks, in a fixed order.
func (s *Soak) everyone() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := slices.Sorted(maps.Keys(s.agents))
	for _, f := range s.forks {
		ids = append(ids, f.id)
	}
	return ids
}

// judge compares what all agents have said with what the undisturbed agents have said, and with the ledger. Interrupted agents are
// only compared with the ledger. It returns the problems that it finds, and the IDs of all agents and their sub-agents.
func (s *Soak) judge() (*Verdict, []string) {
	ctx := s.T.Context()
	v := newVerdict(s.ledger)
	heard := map[string]Told{}
	var ids []string
	for _, id := range s.everyone() {
		if s.extras.wasInterrupted(id) {
			ids = append(ids, s.hearInterrupted(ctx, v, id, s.agents[id].messages)...)
			continue
		}
		got, err := tell(ctx, s.Client, id)
		if err != nil {
			v.problemf("%v", err)
			continue
		}
		heard[id] = got
		ids = append(ids, got.ids()...)
		if sc, ok := s.agents[id]; ok {
			v.hear(s.undisturbed[sc.Name].asHeard(got), got)
		}
	}
	for _, f := range s.forks {
		from, turn := heard[f.from], s.undisturbed[f.scenario.Name]
		got, ok := heard[f.id]
		if s.extras.wasInterrupted(f.from) {
			// The other agent may have taken another path since it was forked.
			from = got
		}
		if ok {
			at := min(f.at, len(from.messages))
			v.hear(Told{messages: slices.Concat(from.messages[:at], turn.messages)}, got)
		}
	}
	spans, err := spansOf(ctx, s.Temporal, ids)
	require.NoError(s.T, err)
	s.ownInterrupted(v, spans)
	v.close(s.ledger, s.people, spans)
	return v, ids
}
