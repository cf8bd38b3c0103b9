package faults_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/fault"
	"github.com/reagent-dev/reagent/llm"
)

// caseTime bounds one case from its beginning. An activity without heartbeats that a worker took to its grave comes
// back after a minute.
const caseTime = 3 * time.Minute

// lab is the surroundings of one case: an agent that is asked for a scenario, one worker that may die
// of an armed point, and the far side.
type lab struct {
	*world.World
	// ctx ends when the case is over, or cannot come to its end.
	ctx      context.Context
	scenario scenario
	id       string
	dir      string // of armed points
	far      *far
	ledger   *ledger
	crew     *crew
	// held holds the model call or tool call at a place until it is opened.
	held  *world.Gate
	armed []fault.Point
}

// newLab prepares a case. Hold is a place, or empty.
func newLab(t *testing.T, s scenario, hold string) *lab {
	program, err := faultyWorker()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), caseTime)
	t.Cleanup(cancel)
	ctx, broken := context.WithCancelCause(ctx)
	l := &lab{ctx: ctx, scenario: s, id: strings.ReplaceAll(t.Name(), "/", "-"), dir: t.TempDir(), ledger: newLedger(), held: world.NewGate()}
	l.far = &far{ledger: l.ledger}
	stand := func(ctx context.Context, at string) error {
		if at != hold {
			return nil
		}
		return l.held.Pass(ctx)
	}
	l.far.asked, l.far.called = stand, stand
	tools := world.NewToolServer(t)
	tools.Add("read", world.ReadOnly, l.far.tool)
	tools.Add("pay", nil, l.far.tool)
	l.World = world.New(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) { return l.far.model(ctx, req) }, tools, team)
	l.crew = newCrew(l.World, 1, l.ledger, broken, program, fault.Env+"="+l.dir)
	return l
}

// arm arms a point for the agents whose ID has the words, or the calls whose input has.
func (l *lab) arm(p fault.Point, pass int, words ...string) {
	l.armed = append(l.armed, p)
	require.NoError(l.T, fault.Arm(l.dir, p, pass, words...))
}

// workerDies waits until a worker has died, of what was armed if something was.
func (l *lab) workerDies() {
	l.soon("the worker dies", func() bool { return l.crew.died() > 0 })
	for _, p := range l.armed {
		require.False(l.T, fault.Armed(l.dir, p), "the worker did not die of %s", p)
	}
}

// soon waits for a condition for as long as a case may take.
func (l *lab) soon(what string, ok func() bool) {
	l.T.Helper()
	require.NoError(l.T, until(l.ctx, what, func(context.Context) (bool, error) { return ok(), nil }))
}

// agent returns the ID of the agent below ours whose ID has the part, or ours.
func (l *lab) agent(part string) string {
	if part == "" {
		return l.id
	}
	var found string
	l.soon("there is an agent "+part, func() bool {
		snap, err := l.Client.Read(l.ctx, l.id)
		for _, c := range snap.Children {
			if strings.Contains(strings.TrimPrefix(c.ID, l.id), part) {
				found = c.ID
			}
		}
		return err == nil && found != ""
	})
	return found
}
