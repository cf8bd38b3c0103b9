package lab

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/history"
	"github.com/reagent-dev/reagent/internal/app/devserver"
	"github.com/reagent-dev/reagent/internal/testkit/fault"
	"github.com/reagent-dev/reagent/llm"
)

// surroundings holds what TestChaos and TestSoak have in common: a slow model and slow tools, a Temporal server with its
// data in a file, and workers that record the states of agents.
type surroundings struct {
	*world.World

	seed   uint64
	random *rand.Rand // only for the choice of disturbances
	ledger *Ledger
	people *people
	extras *extras
	crew   *Crew
	dir    string // the folder for recorded states
	// own is the Temporal server of this test. options are the options with which it was started.
	own     *devserver.Server
	options devserver.Options
}

func newSurroundings(t testing.TB, seed uint64) *surroundings {
	return &surroundings{seed: seed, ledger: NewLedger(), people: newPeople(t), extras: newExtras(), dir: t.TempDir(), random: rand.New(rand.NewPCG(seed, 1))}
}

// begin starts the model, the tools and the Temporal server of the test. There is a read-only tool and an at-most-once tool;
// both call the function tool. The text in the parameter agents is added to the configuration of the agent x.
func (s *surroundings) begin(t *testing.T, model func(context.Context, llm.Request) (llm.Reply, error), tool world.ToolFunc, agents string) {
	tools := world.NewToolServer(t)
	tools.Add("read", world.ReadOnly, tool)
	tools.Add("pay", nil, tool)
	tools.Add("wire", nil, tool)
	s.World = world.New(t, model, tools, agents)
	s.options = devserver.Options{DBFilename: filepath.Join(t.TempDir(), "temporal.db"), Port: world.FreePort(t)}
	var err error
	s.own, err = devserver.Start(t.Context(), s.options)
	require.NoError(t, err)
	t.Cleanup(func() { s.own.Stop() })
	s.MoveTo(s.own)
}

// workers starts n workers with further environment variables. Each of them is replaced when it ends.
func (s *surroundings) workers(n int, env ...string) *Crew {
	program, err := FaultyWorker()
	require.NoError(s.T, err)
	return NewCrew(s.World, n, s.ledger, nil, program, append(env, fault.Env+"="+s.dir)...)
}

// Seed returns the seed in the environment variable REAGENT_SEED. If the variable is not set, it returns a random seed.
func Seed(t testing.TB) uint64 {
	if text := os.Getenv("REAGENT_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
		return n
	}
	return rand.Uint64N(1_000_000)
}

// takeTime returns a function that waits for a random time of up to 320 ms. The model and the tools call it, so that calls are
// in flight when a disturbance comes.
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

// pause waits for the duration d. If ctx ends before that, pause returns the error of ctx.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// The names in the ledger for the two ways in which a test restarts the Temporal server.
const (
	serverRestarted = "server restarted"
	serverKilled    = "server killed, restarted"
)

// restartServer stops the Temporal server and starts it again with the same data. If kill is true, it kills the server with
// SIGKILL instead of stopping it.
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

// withLost returns the IDs in the parameter ids, and the IDs of all further sub-agents of the agents in the parameter roots in
// Temporal's list of workflows. No agent names these sub-agents any more: their parent was deleted, or was reset and then asked for
// other sub-agents.
func (s *surroundings) withLost(ctx context.Context, ids, roots []string) []string {
	for _, root := range roots {
		request := &workflowservice.ListWorkflowExecutionsRequest{Query: fmt.Sprintf("WorkflowId STARTS_WITH %q", root+"/")}
		page, err := s.Temporal.ListWorkflow(ctx, request)
		require.NoError(s.T, err)
		for _, info := range page.GetExecutions() {
			if id := info.GetExecution().GetWorkflowId(); !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// logAgent logs what Temporal knows about an agent: its open work, and the events of all its runs. It also logs how the agent was
// disturbed.
func (s *surroundings) logAgent(id string) {
	ctx := context.Background()
	found, err := s.Temporal.DescribeWorkflowExecution(ctx, id, "")
	s.T.Logf("%s: %v %v\nactivities %v\nchildren %v\ntask %v", id, err, found.GetWorkflowExecutionInfo().GetStatus(),
		found.GetPendingActivities(), found.GetPendingChildren(), found.GetPendingWorkflowTask())
	runs, err := history.Runs(ctx, s.Temporal, id)
	s.T.Logf("%s: runs %v %v", id, runs, err)
	for _, run := range slices.Backward(runs) {
		logHistory(s.T, s.Temporal, id, run)
	}
	for _, t := range s.ledger.troublesOf(id) {
		s.T.Logf("%s: %s to %s: %s", id, clock(t.from), clock(t.to), t.what)
	}
}
