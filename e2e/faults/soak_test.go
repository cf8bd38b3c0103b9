package faults_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

// soakSize is the number of agents in [TestSoak]; `make soak` sets it. If it is 0, the test is skipped.
var soakSize, _ = strconv.Atoi(os.Getenv("REAGENT_SOAK"))

// soakTime is the time limit for the disturbed agents of [TestSoak].
const soakTime = 15 * time.Minute

// Many agents give the right answers, and no at-most-once call takes effect twice, under random disturbances. The test kills
// workers and restarts the server. It terminates, resets and forks agents, and makes them continue in new runs. It interrupts some
// of them: their answers are not those of undisturbed agents, but nothing is lost or done twice. REAGENT_SEED repeats the random
// choices of an earlier test, but not their exact times.
func TestSoak(t *testing.T) {
	if soakSize <= 0 {
		t.Skip("set REAGENT_SOAK to a number of agents: make soak")
	}
	began := time.Now()
	s := newSoak(t)
	t.Logf("seed %d", s.seed)
	s.undisturb()

	ctx, cancel := context.WithTimeout(t.Context(), soakTime)
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
	require.NoError(t, err)
	worked := time.Since(began)
	v, ids := s.judge()
	t.Logf("seed %d, %v of work, %v of judging\n%v\n%v", s.seed, worked.Round(time.Second),
		(time.Since(began) - worked).Round(time.Second), s.counts(), v.tally)
	s.logAgents(v.problems...)
	require.Empty(t, v.problems, strings.Join(v.problems, "\n"))
	require.Positive(t, v.kills)
	requireSameStates(t, s.Temporal, s.dir, ids)
	for _, id := range ids {
		t.Run("history and query of "+id, func(t *testing.T) {
			w := *s.World
			w.T = t
			w.Compare(id)
		})
	}
}

// soak holds everything that [TestSoak] needs and records.
type soak struct {
	*surroundings

	far *far
	// finished counts the agents that have completed once.
	finished atomic.Int32

	undisturbed map[string]told // what an undisturbed agent says, by scenario
	troubled    map[string]int  // how often each agent was disturbed, by agent ID

	mu     sync.Mutex
	agents map[string]scenario // the scenarios of the started agents, by agent ID
	works  map[string]bool     // the IDs of the agents that have not completed yet
	// stoppable has the IDs of the agents that may be interrupted.
	stoppable map[string]bool
	forks     []fork
}

// fork is an agent that was forked from another agent. The field at is the number of messages that it got from the other agent.
type fork struct {
	id, from string
	at       int
	scenario scenario
}

func newSoak(t *testing.T) *soak {
	s := &soak{
		surroundings: newSurroundings(t, seed(t)),
		undisturbed:  map[string]told{}, troubled: map[string]int{}, agents: map[string]scenario{}, works: map[string]bool{},
		stoppable: map[string]bool{},
	}
	s.far = &far{ledger: s.ledger, unscripted: afterInterrupt}
	s.far.asked, s.far.called, s.far.paid = s.takeTime(), s.takeTime(), s.takeTime()
	s.begin(t, s.far.model, s.far.tool, teamOf(s.people.url))
	s.crew = s.workers(3)
	return s
}

// undisturb runs one agent for each scenario without disturbances, and stores what it says in s.undisturbed.
func (s *soak) undisturb() {
	var all errgroup.Group
	for _, sc := range scenarios {
		id := "undisturbed-" + strings.ReplaceAll(sc.name, " ", "-") + "-" + s.Queue
		s.agents[id] = sc
		all.Go(func() error { return converse(s.T.Context(), s.Client, id, sc, s.people) })
	}
	require.NoError(s.T, all.Wait())
	for id, sc := range s.agents {
		got, err := tell(s.T.Context(), s.Client, id)
		require.NoError(s.T, err)
		s.undisturbed[sc.name] = got
	}
}

// converseAll runs all agents, a limited number at a time, and waits until they have completed.
func (s *soak) converseAll(ctx context.Context) error {
	var all errgroup.Group
	all.SetLimit(max(6, soakSize/6))
	random := rand.New(rand.NewPCG(s.seed, 3))
	for i := range soakSize {
		sc := scenarios[random.IntN(len(scenarios))]
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
func (s *soak) logAgents(problems ...string) {
	for _, id := range s.everyone() {
		if slices.ContainsFunc(problems, func(text string) bool { return strings.HasPrefix(text, id+":") || strings.HasPrefix(text, id+"/") }) {
			s.logAgent(id)
		}
	}
}

// counts returns a table: how often each disturbance happened, and how many agents there were for each scenario.
func (s *soak) counts() string {
	counts := s.ledger.disturbances()
	for id, sc := range s.agents {
		if !strings.HasPrefix(id, "undisturbed") {
			counts["asked for: "+sc.name]++
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
func (s *soak) everyone() []string {
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
func (s *soak) judge() (*verdict, []string) {
	ctx := s.T.Context()
	v := newVerdict(s.ledger)
	heard := map[string]told{}
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
			v.hear(s.undisturbed[sc.name].asHeard(got), got)
		}
	}
	for _, f := range s.forks {
		from, turn := heard[f.from], s.undisturbed[f.scenario.name]
		got, ok := heard[f.id]
		if s.extras.wasInterrupted(f.from) {
			// The other agent may have taken another path since it was forked.
			from = got
		}
		if ok {
			at := min(f.at, len(from.messages))
			v.hear(told{messages: slices.Concat(from.messages[:at], turn.messages)}, got)
		}
	}
	spans, err := spansOf(ctx, s.Temporal, ids)
	require.NoError(s.T, err)
	s.ownInterrupted(v, spans)
	v.close(s.ledger, s.people, spans)
	return v, ids
}
