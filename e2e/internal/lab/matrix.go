package lab

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Undisturbed runs the agent of a scenario without disturbances, and returns what it says.
func Undisturbed(t *testing.T, s Scenario) Told {
	l := newTrial(t, s, "")
	require.NoError(t, converse(l.ctx, l.Client, l.id, s, l.people))
	got, err := tell(l.ctx, l.Client, l.id)
	require.NoError(t, err)
	v := newVerdict(l.ledger)
	v.hear(got, got)
	v.close(l.ledger, l.people, nil)
	require.Empty(t, v.Problems)
	require.Zero(t, v.Repeated+v.repeatedReads+v.interrupted)
	return got
}

// Outcome is what the case of a disturbance in a scenario has shown.
type Outcome struct {
	*Verdict

	// Renotified has the waits about which the hook was notified under several keys.
	Renotified []string

	trial *trial
	ids   []string // the IDs of the agent and its sub-agents
}

// Run runs the disturbance in one scenario, until the agent has completed. The parameter want is what the agent says in this scenario
// without a disturbance.
func (d Disturbance) Run(t *testing.T, s Scenario, want Told) Outcome {
	hold := ""
	if d.hold != nil {
		hold = d.hold(s)
	}
	l := newTrial(t, s, hold)
	do := func(f func(*trial)) {
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
	return Outcome{Verdict: v, Renotified: l.people.renotified(), trial: l, ids: got.ids()}
}

// RequireReplay asserts that a replay of the histories leads to the states that the worker recorded, and to what the agents report.
func (o Outcome) RequireReplay() {
	requireSameStates(o.trial.T, o.trial.Temporal, o.trial.dir, o.ids)
	for _, id := range o.ids {
		o.trial.Compare(id)
	}
}

// These are the cells of a [Matrix] for a case that cannot occur, and for one that failed. The counts of a case are not in the sums of
// the table if its agent did not complete.
const (
	NotApplicable = "n.a."
	Failed        = "FAILED"
)

// Matrix is the table of all cases. Each disturbance is a row, and each scenario is a column. It is safe for concurrent use.
type Matrix struct {
	mu    sync.Mutex
	cells map[string]string
	sum   Tally
	cases int
}

// NewMatrix returns an empty [Matrix].
func NewMatrix() *Matrix { return &Matrix{cells: map[string]string{}} }

// Put sets the cell of a case, and adds the counts of the case to the sums.
func (m *Matrix) Put(d Disturbance, s Scenario, cell string, sum Tally) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cells[d.Name+s.Name] = cell
	if cell != NotApplicable {
		m.cases++
	}
	m.sum.add(sum)
}

func (m *Matrix) String() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "\n%-42s", "")
	for _, s := range Scenarios {
		fmt.Fprintf(&b, "%-17s", s.Name)
	}
	absent, failed := 0, 0
	for _, d := range Disturbances {
		fmt.Fprintf(&b, "\n%-42s", d.Name)
		for _, s := range Scenarios {
			cell := m.cells[d.Name+s.Name]
			switch cell {
			case NotApplicable:
				absent++
			case Failed:
				failed++
			}
			fmt.Fprintf(&b, "%-17s", cell)
		}
	}
	fmt.Fprintf(&b, "\n\n%6d  cases, of which %d failed; %d more combinations cannot occur\n%v", m.cases, failed, absent, m.sum)
	return b.String()
}
