package agent_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
)

// After a reset, the agent takes the same path past sub-agents that answered, were interrupted, failed, or answered
// late. It knows of each call only what RecallCall returns for the state at the end of the earlier run.
func TestResetTakesTheSameWayPastSubAgents(t *testing.T) {
	late, failed, elsewhere := 0, 0, 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 11))
		first := &walk{t: t, seed: seed, state: chat(), done: map[agent.Key]agent.Event{}, roomy: true}
		var accepted []agent.InboxMessage
		for len(accepted) < 5 {
			if r.IntN(6) == 0 {
				m := agent.InboxMessage{ID: fmt.Sprint("m", len(accepted)+1), Text: "and more", Steer: r.IntN(3) > 0}
				if m.Steer {
					m.After = first.state.Entry()
				}
				require.True(t, first.state.Apply(agent.MessageReceived{Message: m}))
				accepted = append(accepted, m)
			}
			first.family(r)
		}
		first.rest()
		base := clone(first.state)
		for _, c := range base.Children {
			late += min(1, len(base.Interrupted))
			if c.Failed {
				failed++
			}
			if c.Done && c.Answered != "" {
				elsewhere++
			}
		}

		again := first
		for range 2 { // a reset, and a reset of the new run
			earlier := clone(again.state)
			again = &walk{t: t, seed: seed, state: chat(), done: first.done, known: math.MaxInt, roomy: true}
			again.state.Apply(agent.Rewound{Run: "second"})
			for _, m := range accepted {
				require.True(t, again.state.Apply(agent.MessageReceived{Message: m}))
			}
			for range 2000 {
				step, runs := again.state.Next().(agent.RunTools)
				if !runs {
					if _, waits := again.state.Next().(agent.Wait); waits {
						break
					}
					again.step(r.IntN)
					continue
				}
				c := step.Calls[r.IntN(len(step.Calls))]
				if c.Child == "" {
					again.finish(c.Key, nil)
					continue
				}
				e := agent.CallRecalled{Key: c.Key, Recalled: earlier.RecallCall(c)}
				require.NotNil(t, e.Recalled.Result, "seed %d: %s", seed, c.Key)
				require.True(t, again.state.Apply(e), "seed %d", seed)
				require.False(t, again.state.Apply(e), "seed %d: a second time", seed)
			}
			require.Equal(t, transcript(base), transcript(again.state), "seed %d", seed)
		}
		for _, c := range base.Children {
			known, ok := again.state.Child(c.Key)
			require.True(t, ok)
			require.Equal(t, c.Done, known.Done, "seed %d", seed)
			require.Equal(t, c.Failed, known.Failed, "seed %d", seed)
			require.True(t, known.Started)
			if !c.Done || c.Failed { // a result that comes now has the same effect in both runs
				e := agent.ChildFinished{Key: c.Key, Result: agent.Result{Content: "at last " + string(c.Key)}}
				require.Equal(t, base.Apply(e), again.state.Apply(e), "seed %d", seed)
			}
		}
		first.state = base
		first.rest()
		again.known = 0
		again.rest()
		require.Equal(t, transcript(base), transcript(again.state), "seed %d: late answers", seed)
	}
	require.Greater(t, late, 100)
	require.Greater(t, failed, 100)
	require.Greater(t, elsewhere, 100)
}

// family lets one thing happen, like step. It also lets anything happen to the sub-agents.
func (w *walk) family(r *rand.Rand) {
	for _, c := range w.state.Children {
		switch open := c.Interrupted && !c.Done; {
		case r.IntN(12) > 0:
		case open && r.IntN(3) == 0:
			w.state.Apply(agent.ChildFinished{Key: c.Key, Result: agent.ChildFailed(c.Agent, "failure of "+string(c.Key), 0)})
		case open || c.Failed:
			w.state.Apply(agent.ChildFinished{Key: c.Key, Result: agent.Result{Content: "late answer of " + string(c.Key)}})
		}
	}
	step, runs := w.state.Next().(agent.RunTools)
	if !runs {
		w.step(r.IntN)
		return
	}
	c, chance := step.Calls[r.IntN(len(step.Calls))], r.IntN(3)
	switch {
	case c.Child == "":
		w.finish(c.Key, func() agent.Event {
			return agent.ToolFinished{Key: c.Key, Result: agent.Result{Content: "result of " + string(c.Key)}}
		})
	case chance == 0:
		w.state.Apply(agent.ChildOverdue(c.Child, 1000, 0))
	case chance == 1:
		w.state.Apply(agent.ChildFinished{Key: c.Child, Result: agent.ChildFailed("clerk", "failure of "+string(c.Child), 0)})
	default:
		w.state.Apply(agent.ChildFinished{Key: c.Child, Result: agent.Result{Content: "answer of " + string(c.Child)}})
	}
}
