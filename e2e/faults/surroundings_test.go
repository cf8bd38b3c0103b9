package faults_test

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/devserver"
	"github.com/reagent-dev/reagent/internal/fault"
	"github.com/reagent-dev/reagent/llm"
)

// surroundings are those of many agents that are disturbed at random: a far side that takes its time, a server of
// their own with its data in a file, and workers that record states.
type surroundings struct {
	*world.World

	seed   uint64
	random *rand.Rand // of the disturbances alone
	ledger *ledger
	crew   *crew
	dir    string // of recorded states
	// own is the server of this test, options how it was started.
	own     *devserver.Server
	options devserver.Options
}

func newSurroundings(t testing.TB, seed uint64) *surroundings {
	return &surroundings{seed: seed, ledger: newLedger(), dir: t.TempDir(), random: rand.New(rand.NewPCG(seed, 1))}
}

// begin serves the model and two tools, of which one is read-only, and starts the server. Agents is what is added to the
// configuration of the agent x.
func (s *surroundings) begin(t *testing.T, model func(context.Context, llm.Request) (llm.Reply, error), tool world.ToolFunc, agents string) {
	tools := world.NewToolServer(t)
	tools.Add("read", world.ReadOnly, tool)
	tools.Add("pay", nil, tool)
	s.World = world.New(t, model, tools, agents)
	s.options = devserver.Options{DBFilename: filepath.Join(t.TempDir(), "temporal.db"), Port: world.FreePort(t)}
	var err error
	s.own, err = devserver.Start(t.Context(), s.options)
	require.NoError(t, err)
	t.Cleanup(func() { s.own.Stop() })
	s.MoveTo(s.own)
}

// workers starts so many workers, each of which is replaced when it dies.
func (s *surroundings) workers(n int) *crew {
	program, err := faultyWorker()
	require.NoError(s.T, err)
	return newCrew(s.World, n, s.ledger, nil, program, fault.Env+"="+s.dir)
}

// seed returns the seed that the environment names, or one at random.
func seed(t testing.TB) uint64 {
	if text := os.Getenv("REAGENT_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
		return n
	}
	return rand.Uint64N(1_000_000)
}

// takeTime makes the far side take some time, so that there is something in flight.
func (s *surroundings) takeTime() func(context.Context, string) error {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(s.seed, 2))
	return func(ctx context.Context, _ string) error {
		mu.Lock()
		d := time.Duration(20+random.IntN(300)) * time.Millisecond
		mu.Unlock()
		return pause(ctx, d)
	}
}

// pause waits for a time, or until the context ends.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// What the ledger calls the two ways in which a server ends and begins again.
const (
	serverRestarted = "server restarted"
	serverKilled    = "server killed, restarted"
)

// restartServer stops Temporal, or kills it, and starts it again on its data.
func (s *surroundings) restartServer(ctx context.Context, kill bool) {
	began, what := time.Now(), serverRestarted
	if kill {
		what = serverKilled
		require.NoError(s.T, syscall.Kill(s.own.PID(), syscall.SIGKILL))
		<-s.own.Done()
	}
	s.own.Stop()
	var err error
	s.own, err = devserver.Start(ctx, s.options)
	require.NoError(s.T, err)
	s.ledger.disturbed("", what, began)
}
