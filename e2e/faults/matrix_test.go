package faults_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

// allFaults makes the tests run all cases; `make faults` sets its environment variable. Otherwise, the tests run a representative
// part of the cases.
var allFaults = os.Getenv("REAGENT_FAULTS_ALL") != ""

// representative has the names of the cases that run if [allFaults] is false. They include every scenario and a point of every
// kind.
var representative = []string{
	"model.asked in task",
	"model.answered in sub-agent",
	"tool.taken (pay) in chat",
	"tool.after (pay) in parallel tools",
	"tool.answered (read) in nested sub-agent",
	"child.started in sub-agent",
	"child.finishing in nested sub-agent",
	"roll.before in task",
	"update.after in chat",
	"continue-as-new in sub-agent",
	"terminate in a tool call, resume in task",
	"timeout in a model call, resume in nested sub-agent",
	"reset in a tool call in parallel tools",
	"reset to the middle task in parallel tools",
	"update.after in people",
	"continue-as-new, reset to the 1st task in people",
	"terminate in a tool call, resume in people",
}

// With every disturbance at every point, an agent says and does the same as without the disturbance. There is one exception: an
// at-most-once call that is cut off is not repeated, and its result says that the outcome is unknown.
func TestFaultsChangeNothing(t *testing.T) {
	t.Parallel()
	undisturbed := map[string]told{}
	for _, s := range scenarios {
		if !t.Run("undisturbed "+s.name, func(t *testing.T) { undisturbed[s.name] = undisturbedRun(t, s) }) {
			return // nothing to compare with
		}
	}
	table := newMatrix()
	// A case mostly waits until Temporal notices that a worker died. So more cases run at once than there are cores.
	var cases errgroup.Group
	cases.SetLimit(6)
	for _, d := range disturbances {
		for _, s := range scenarios {
			name := d.name + " in " + s.name
			switch {
			case !d.occursIn(s):
				table.put(d, s, notApplicable, tally{})
			case allFaults || slices.Contains(representative, name):
				cases.Go(func() error {
					t.Run(name, func(t *testing.T) {
						began, cell := time.Now(), failedCell
						var sum tally
						defer func() { table.put(d, s, cell, sum) }()
						d.run(t, s, undisturbed[s.name], &sum)
						cell = fmt.Sprintf("ok, %.0f s", time.Since(began).Seconds())
					})
					return nil
				})
			}
		}
	}
	require.NoError(t, cases.Wait())
	t.Log(table)
}

func undisturbedRun(t *testing.T, s scenario) told {
	l := newLab(t, s, "")
	require.NoError(t, converse(l.ctx, l.Client, l.id, s, l.people))
	got, err := tell(l.ctx, l.Client, l.id)
	require.NoError(t, err)
	v := newVerdict(l.ledger)
	v.hear(got, got)
	v.close(l.ledger, l.people, nil)
	require.Empty(t, v.problems)
	require.Zero(t, v.repeated+v.repeatedReads+v.interrupted)
	return got
}

// run runs the disturbance in one scenario. The parameter want is what the agent says in this scenario without a disturbance.
// When the agent has completed, run first fills the tally in the parameter sum. Then it makes its assertions. So the table
// has the counts of failed cases, too.
func (d disturbance) run(t *testing.T, s scenario, want told, sum *tally) {
	hold := ""
	if d.hold != nil {
		hold = d.hold(s)
	}
	l := newLab(t, s, hold)
	do := func(f func(*lab)) {
		if f != nil {
			f(l)
		}
	}
	do(d.prepare)
	done := make(chan error, 1)
	go func() { done <- converse(l.ctx, l.Client, l.id, s, l.people) }()
	do(d.strike)
	require.NoError(t, <-done)
	do(d.after)

	got, err := tell(l.ctx, l.Client, l.id)
	require.NoError(t, err)
	spans, err := spansOf(l.ctx, l.Temporal, got.ids())
	require.NoError(t, err)
	v := newVerdict(l.ledger)
	v.hear(want, got)
	v.close(l.ledger, l.people, spans)
	*sum = v.tally
	require.Empty(t, v.problems)
	require.Empty(t, l.people.renotified())
	require.Equal(t, d.kills, v.kills, "workers that died")
	d.requireRepeats(t, s, v.repeated)
	d.requireCut(t, s, v.cut)
	requireSameStates(t, l.Temporal, l.dir, got.ids())
	for _, id := range got.ids() {
		l.Compare(id)
	}
}

func (d disturbance) requireRepeats(t *testing.T, s scenario, repeated int) {
	want := 0
	if d.repeats != nil {
		want = d.repeats(s)
	}
	if d.late {
		want = min(max(repeated, want), want+1)
	}
	require.Equal(t, want, repeated, "model requests repeated")
}

// requireCut asserts that the calls in the parameter cut, which were cut off, are those that the disturbance expects. More
// calls may be cut off if tools run in parallel, or if the next call may have begun.
func (d disturbance) requireCut(t *testing.T, s scenario, cut []string) {
	var want []string
	if d.cut != nil && d.cut(s) != "" {
		want = []string{d.cut(s)}
	}
	if !d.late && (!s.parallel() || !strings.Contains(d.name, "tool")) {
		require.Equal(t, want, cut, "calls cut off")
		return
	}
	for _, call := range want {
		require.Contains(t, cut, call, "calls cut off")
	}
}

// Cells of the table of all cases: notApplicable is for a case that cannot occur, and failedCell for a case that failed. The
// counts of a case are not in the sums of the table if its agent did not complete.
const (
	notApplicable = "n.a."
	failedCell    = "FAILED"
)

// matrix is the table of all cases. Each disturbance is a row, and each scenario is a column.
type matrix struct {
	mu    sync.Mutex
	cells map[string]string
	sum   tally
	cases int
}

func newMatrix() *matrix { return &matrix{cells: map[string]string{}} }

func (m *matrix) put(d disturbance, s scenario, cell string, sum tally) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cells[d.name+s.name] = cell
	if cell != notApplicable {
		m.cases++
	}
	m.sum.add(sum)
}

func (m *matrix) String() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "\n%-42s", "")
	for _, s := range scenarios {
		fmt.Fprintf(&b, "%-17s", s.name)
	}
	absent, failed := 0, 0
	for _, d := range disturbances {
		fmt.Fprintf(&b, "\n%-42s", d.name)
		for _, s := range scenarios {
			cell := m.cells[d.name+s.name]
			switch cell {
			case notApplicable:
				absent++
			case failedCell:
				failed++
			}
			fmt.Fprintf(&b, "%-17s", cell)
		}
	}
	fmt.Fprintf(&b, "\n\n%6d  cases, of which %d failed; %d more combinations cannot occur\n%v", m.cases, failed, absent, m.sum)
	return b.String()
}
