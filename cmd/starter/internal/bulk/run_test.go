package bulk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
	"github.com/reagent-dev/reagent/internal/app/object"
)

func newRun(all int) (r *run, out, errs *bytes.Buffer) {
	out, errs = &bytes.Buffer{}, &bytes.Buffer{}
	return &run{stdout: out, stderr: errs, done: "resumed", all: all}, out, errs
}

// agents returns n units of work for the agents a0, a1, and so on.
func agents(n int, do func(ctx context.Context, i int) (Outcome, error)) []work {
	var all []work
	for i := range n {
		a := Action{Do: func(ctx context.Context, _ Target) (Outcome, error) { return do(ctx, i) }}
		all = append(all, workOn(a, Target{Entry: client.Entry{ID: fmt.Sprint("a", i), Agent: "x"}}))
	}
	return all
}

// Each agent has one result, also if others fail. The exit code says that some have failed.
func TestOneFailureStopsNoOtherAgent(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		r, out, errs := newRun(4)
		r.json = asJSON
		err := r.do(t.Context(), 0, agents(4, func(_ context.Context, i int) (Outcome, error) {
			switch i {
			case 1:
				return Outcome{}, errors.New("broken\x1b[2J\nforged")
			case 2:
				return Outcome{object.Already, "it is running"}, nil
			case 3:
				return Outcome{}, fmt.Errorf("it: %w", client.ErrNotFound)
			}
			return Outcome{}, nil
		}))
		require.Equal(t, exit.Partly, exit.CodeOf(err))
		require.ErrorContains(t, err, "1 of 4 agents failed")
		require.Equal(t, "3 of 4 agents resumed, 2 of them before; 1 failed\n", errs.String())
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		require.Len(t, lines, 4)
		results := map[string]object.Result{}
		for _, text := range lines {
			if asJSON {
				var l struct {
					Type, ID string
					Outcome  object.Result
				}
				require.NoError(t, json.Unmarshal([]byte(text), &l))
				require.Equal(t, "outcome", l.Type)
				results[l.ID] = l.Outcome
			} else {
				words := strings.Fields(text)
				results[words[1]] = object.Result(words[0])
			}
		}
		require.Equal(t, map[string]object.Result{"a0": object.Done, "a1": object.Failed, "a2": object.Already, "a3": object.Already}, results)
	}
}

// At most so many agents are begun in a second, and at most so many are worked on at once. A long run reports its progress.
func TestRateAndParallelWorkAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _, errs := newRun(40)
		var at, most, atOnce atomic.Int32
		began := time.Now()
		require.NoError(t, r.do(t.Context(), 10, agents(40, func(context.Context, int) (Outcome, error) {
			n := atOnce.Add(1)
			most.Store(max(most.Load(), n))
			require.LessOrEqual(t, at.Add(1), int32(time.Since(began).Seconds()*10)+1)
			time.Sleep(3 * time.Second) // of the bubble's clock
			atOnce.Add(-1)
			return Outcome{}, nil
		})))
		require.Equal(t, int32(parallel), most.Load())
		require.Contains(t, errs.String(), "of 40 agents resumed …\n")
	})
	synctest.Test(t, func(t *testing.T) {
		r, _, _ := newRun(40)
		began := time.Now()
		require.NoError(t, r.do(t.Context(), 0, agents(40, func(context.Context, int) (Outcome, error) { return Outcome{}, nil })))
		require.Zero(t, time.Since(began), "no rate is no limit")
	})
}

// A command that is interrupted says how far it has come, and how to go on.
func TestInterruptedRunSaysHowToGoOn(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	r, _, _ := newRun(100)
	r.again = "--message-id m"
	var n atomic.Int32
	err := r.do(ctx, 0, agents(100, func(ctx context.Context, _ int) (Outcome, error) {
		if n.Add(1) > 10 {
			interrupt()
			<-ctx.Done()
			return Outcome{}, ctx.Err()
		}
		return Outcome{}, nil
	}))
	require.Equal(t, exit.Interrupted, exit.CodeOf(err))
	require.EqualError(t, err, "interrupted: 10 of 100 agents resumed, and 90 are left; repeat the command to go on, with --message-id m")
}

// If Temporal does not answer, the other agents are not tried.
func TestRunEndsWhenTemporalIsAway(t *testing.T) {
	r, _, _ := newRun(100)
	var n atomic.Int32
	err := r.do(t.Context(), 0, agents(100, func(ctx context.Context, _ int) (Outcome, error) {
		if n.Add(1) == 1 {
			return Outcome{}, client.ErrNoServer
		}
		<-ctx.Done()
		return Outcome{}, ctx.Err()
	}))
	require.Equal(t, exit.Unreachable, exit.CodeOf(err))
	require.ErrorContains(t, err, "0 of 100 agents resumed, and 100 are left")
	require.LessOrEqual(t, n.Load(), int32(parallel+1))
}

// The agents to forget are those that match and all below them. A sub-agent of another agent that has had the same ID is not below.
func TestForgetTakesWhatIsBelowAndNothingElse(t *testing.T) {
	life := func(id, parent, parentRun string, runs ...string) client.Life {
		return client.Life{Entry: client.Entry{ID: id, Parent: parent, RunID: runs[len(runs)-1]}, ParentRunID: parentRun, Runs: runs}
	}
	f := newFamily([]client.Life{
		life("daily", "", "", "today"),
		life("daily", "", "", "monday", "tuesday"),
		life("daily/clerk-1", "daily", "monday", "c1"),
		life("daily/clerk-2", "daily", "today", "c2"),
		life("daily/clerk-1/deep", "daily/clerk-1", "c1", "c3"),
		life("daily/clerk-3", "daily", "sunday", "c4"), // of a run that Temporal has deleted: of which of the two is not known
		life("lone/clerk", "lone", "gone", "c5"),
		life("lone", "", "", "r2"),
		life("inner", "a workflow of another type", "r", "c6"),
	})
	forgotten := func(selected ...int) (trees [][]string) {
		for _, t := range f.below(func(i int) bool { return slices.Contains(selected, i) }) {
			var ids []string
			for _, l := range t.lives {
				ids = append(ids, l.RunID)
			}
			trees = append(trees, append(ids, "below "+t.above))
		}
		return trees
	}
	require.Equal(t, [][]string{{"tuesday", "c1", "c3", "below "}}, forgotten(1))
	require.Equal(t, [][]string{{"today", "c2", "below "}}, forgotten(0))
	require.Equal(t, [][]string{{"tuesday", "c1", "c3", "below "}}, forgotten(4, 1, 2), "no agent is in two trees")
	require.Equal(t, [][]string{{"c3", "below daily/clerk-1"}}, forgotten(4))
	require.Equal(t, [][]string{{"r2", "c5", "below "}}, forgotten(7))
	require.Equal(t, [][]string{{"c6", "below a workflow of another type"}}, forgotten(8))
	require.Empty(t, forgotten())
}

// A rate is a number that is not negative; what is not a number is none.
func TestRateIsBounded(t *testing.T) {
	for text, want := range map[string]bool{"0": true, "0.5": true, "10000": true, "-1": false, "NaN": false, "Inf": false, "1e9": false, "ten": false, "": false} {
		var v rateValue
		require.Equal(t, want, v.Set(text) == nil, text)
	}
}
