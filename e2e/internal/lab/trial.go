package lab

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/testkit/fault"
	"github.com/reagent-dev/reagent/llm"
)

// caseTime is the time limit of one case. A case takes long if Temporal has to notice that a worker has died.
const caseTime = 3 * time.Minute

// trial holds what one case needs: an agent, one worker that a test can kill, the model and the tools. A case is one
// [Disturbance] in one [Scenario].
type trial struct {
	*world.World
	// ctx ends when the case is over, or when its worker has ended by itself, so that the case cannot succeed.
	ctx      context.Context
	scenario Scenario
	id       string
	dir      string // the folder for fault.Arm
	far      *far
	ledger   *Ledger
	people   *people
	crew     *Crew
	// held stops the model or tool call at the place that newTrial got, until the test opens this gate.
	held  *world.Gate
	armed []fault.Point
}

// newTrial prepares a case and starts its worker, but not the agent. The parameter hold is the place of the call that the gate
// trial.held stops; empty means none.
func newTrial(t *testing.T, s Scenario, hold string) *trial {
	program, err := FaultyWorker()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), caseTime)
	t.Cleanup(cancel)
	ctx, broken := context.WithCancelCause(ctx)
	l := &trial{ctx: ctx, scenario: s, id: strings.ReplaceAll(t.Name(), "/", "-"), dir: t.TempDir(), ledger: NewLedger(), people: newPeople(t), held: world.NewGate()}
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
	tools.Add("wire", nil, l.far.tool)
	l.World = world.New(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) { return l.far.model(ctx, req) }, tools, teamOf(l.people.url))
	l.crew = NewCrew(l.World, 1, l.ledger, broken, program, fault.Env+"="+l.dir)
	return l
}

// arm makes the worker kill itself at the point p. The parameters are those of [fault.Arm].
func (l *trial) arm(p fault.Point, pass int, words ...string) {
	l.armed = append(l.armed, p)
	require.NoError(l.T, fault.Arm(l.dir, p, pass, words...))
}

// workerDies waits until a worker has died. If the test has armed points, workerDies asserts that the worker died there.
func (l *trial) workerDies() {
	l.soon("the worker dies", func() bool { return l.crew.Died() > 0 })
	for _, p := range l.armed {
		require.False(l.T, fault.Armed(l.dir, p), "the worker did not die of %s", p)
	}
}

// soon waits until the function ok returns true. If l.ctx ends before that, soon fails the test with the name of the condition,
// which is the parameter what.
func (l *trial) soon(what string, ok func() bool) {
	l.T.Helper()
	require.NoError(l.T, until(l.ctx, what, func(context.Context) (bool, error) { return ok(), nil }))
}

// agent returns the ID of the sub-agent whose ID contains the text in the parameter part, and waits until there is one. The
// beginning of the ID, which is l.id, does not count. If part is empty, agent returns l.id, the ID of the agent itself.
func (l *trial) agent(part string) string {
	if part == "" {
		return l.id
	}
	var found string
	l.soon("there is an agent "+part, func() bool {
		snap, err := l.Client.ShowRecorded(l.ctx, l.id)
		for _, c := range snap.Children {
			if strings.Contains(strings.TrimPrefix(c.ID, l.id), part) {
				found = c.ID
			}
		}
		return err == nil && found != ""
	})
	return found
}
