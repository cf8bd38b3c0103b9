package faults_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/reagent-dev/reagent/e2e/internal/lab"
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
	undisturbed := map[string]lab.Told{}
	for _, s := range lab.Scenarios {
		if !t.Run("undisturbed "+s.Name, func(t *testing.T) { undisturbed[s.Name] = lab.Undisturbed(t, s) }) {
			return // nothing to compare with
		}
	}
	table := lab.NewMatrix()
	// A case mostly waits until Temporal notices that a worker died. So more cases run at once than there are cores.
	var cases errgroup.Group
	cases.SetLimit(6)
	for _, d := range lab.Disturbances {
		for _, s := range lab.Scenarios {
			name := d.Name + " in " + s.Name
			switch {
			case !d.OccursIn(s):
				table.Put(d, s, lab.NotApplicable, lab.Tally{})
			case allFaults || slices.Contains(representative, name):
				cases.Go(func() error {
					t.Run(name, func(t *testing.T) {
						began, cell := time.Now(), lab.Failed
						var sum lab.Tally
						defer func() { table.Put(d, s, cell, sum) }()
						o := d.Run(t, s, undisturbed[s.Name])
						sum = o.Tally
						require.Empty(t, o.Problems)
						require.Empty(t, o.Renotified)
						require.Equal(t, d.Kills, o.Kills, "workers that died")
						requireRepeats(t, d, s, o.Repeated)
						requireCut(t, d, s, o.Cut)
						o.RequireReplay()
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

// requireRepeats asserts that as many model requests were repeated as the disturbance expects. If the worker dies late, there may be one
// more.
func requireRepeats(t *testing.T, d lab.Disturbance, s lab.Scenario, repeated int) {
	want := 0
	if d.Repeats != nil {
		want = d.Repeats(s)
	}
	if d.Late {
		want = min(max(repeated, want), want+1)
	}
	require.Equal(t, want, repeated, "model requests repeated")
}

// requireCut asserts that the calls in the parameter cut, which were cut off, are those that the disturbance expects. More
// calls may be cut off if tools run in parallel, or if the next call may have begun.
func requireCut(t *testing.T, d lab.Disturbance, s lab.Scenario, cut []string) {
	var want []string
	if d.Cut != nil && d.Cut(s) != "" {
		want = []string{d.Cut(s)}
	}
	if !d.Late && (!s.Parallel() || !strings.Contains(d.Name, "tool")) {
		require.Equal(t, want, cut, "calls cut off")
		return
	}
	for _, call := range want {
		require.Contains(t, cut, call, "calls cut off")
	}
}
