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

// soakSize is the number of agents: make soak sets it. An ordinary run has no soak.
var soakSize, _ = strconv.Atoi(os.Getenv("REAGENT_SOAK"))

// soakTime bounds a soak.
const soakTime = 15 * time.Minute

// Many agents at once, whose workers are killed, whose runs are terminated, reset and rolled, who are
// forked, and whose server is restarted, all at random: everyone comes to the right end, and nothing
// is done twice that must not be. REAGENT_SEED repeats the choices, though not their moments.
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
	require.NoError(t, s.disturbUntil(ctx, done))
	for _, id := range s.everyone() {
		require.NoError(t, completed(ctx, s.Client, id), id)
	}
	worked := time.Since(began)
	v, ids := s.judge()
	t.Logf("seed %d, %v of work, %v of judging\n%v\n%v", s.seed, worked.Round(time.Second),
		(time.Since(began) - worked).Round(time.Second), s.counts(), v.tally)
	require.Empty(t, v.problems)
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

// soak is the surroundings of all agents.
type soak struct {
	*surroundings

	far *far
	// finished counts the agents that have completed once.
	finished atomic.Int32

	undisturbed map[string]told
	troubled    map[string]int // how often, by agent

	mu     sync.Mutex
	agents map[string]scenario // those that were started, by their IDs
	works  map[string]bool     // those that have not completed yet
	forks  []fork
}

// fork is an agent that was forked from another after so many messages.
type fork struct {
	id, from string
	at       int
	scenario scenario
}

func newSoak(t *testing.T) *soak {
	s := &soak{
		surroundings: newSurroundings(t, seed(t)),
		undisturbed:  map[string]told{}, troubled: map[string]int{}, agents: map[string]scenario{}, works: map[string]bool{},
	}
	s.far = &far{ledger: s.ledger}
	s.far.asked, s.far.called, s.far.paid = s.takeTime(), s.takeTime(), s.takeTime()
	s.begin(t, s.far.model, s.far.tool, team)
	s.crew = s.workers(3)
	return s
}

// undisturb has one agent of each scenario work in peace.
func (s *soak) undisturb() {
	var all errgroup.Group
	for _, sc := range scenarios {
		id := "undisturbed-" + strings.ReplaceAll(sc.name, " ", "-") + "-" + s.Queue
		s.agents[id] = sc
		all.Go(func() error { return converse(s.T.Context(), s.Client, id, sc) })
	}
	require.NoError(s.T, all.Wait())
	for id, sc := range s.agents {
		got, err := tell(s.T.Context(), s.Client, id)
		require.NoError(s.T, err)
		s.undisturbed[sc.name] = got
	}
}

// converseAll starts the agents, some at a time, and sees them to their ends.
func (s *soak) converseAll(ctx context.Context) error {
	var all errgroup.Group
	all.SetLimit(max(6, soakSize/6))
	random := rand.New(rand.NewPCG(s.seed, 3))
	for i := range soakSize {
		sc := scenarios[random.IntN(len(scenarios))]
		all.Go(func() error {
			id := fmt.Sprint(s.Queue, "-", i)
			s.mu.Lock()
			s.agents[id], s.works[id] = sc, true
			s.mu.Unlock()
			err := converse(ctx, s.Client, id, sc)
			s.finished.Add(1)
			s.mu.Lock()
			delete(s.works, id)
			s.mu.Unlock()
			return err
		})
	}
	return all.Wait()
}

// counts is what there was, as lines of a table.
func (s *soak) counts() string {
	counts := s.ledger.disturbances()
	for id, sc := range s.agents {
		if !strings.HasPrefix(id, "undisturbed") {
			counts["asked for: "+sc.name]++
		}
	}
	var b strings.Builder
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&b, "%6d  %s\n", counts[what], what)
	}
	return b.String()
}

// everyone returns the IDs of all agents, in a fixed order.
func (s *soak) everyone() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := slices.Sorted(maps.Keys(s.agents))
	for _, f := range s.forks {
		ids = append(ids, f.id)
	}
	return ids
}

// judge hears all agents. It returns the IDs of all, sub-agents among them, too.
func (s *soak) judge() (*verdict, []string) {
	ctx := s.T.Context()
	v := newVerdict(s.ledger)
	heard := map[string]told{}
	var ids []string
	for _, id := range s.everyone() {
		got, err := tell(ctx, s.Client, id)
		if err != nil {
			v.problemf("%v", err)
			continue
		}
		heard[id] = got
		ids = append(ids, got.ids()...)
		if sc, ok := s.agents[id]; ok {
			v.hear(s.undisturbed[sc.name], got)
		}
	}
	for _, f := range s.forks {
		from, turn := heard[f.from], s.undisturbed[f.scenario.name]
		if got, ok := heard[f.id]; ok && len(from.messages) >= f.at {
			v.hear(told{messages: slices.Concat(from.messages[:f.at], turn.messages)}, got)
		}
	}
	spans, err := spansOf(ctx, s.Temporal, ids)
	require.NoError(s.T, err)
	v.close(s.ledger, spans)
	return v, ids
}
