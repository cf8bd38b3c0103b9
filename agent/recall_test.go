package agent_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
)

// After a reset, the agent takes the same path past sub-agents that answered, were interrupted, failed, or answered
// late. It knows of each call only what FindCall returns for the state at the end of the earlier run.
func TestResetTakesTheSameWayPastSubAgents(t *testing.T) {
	late, failed, elsewhere := 0, 0, 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 11))
		first := &walk{t: t, seed: seed, state: chat(), done: map[agent.Key]agent.Event{}, roomy: true}
		var accepted []agent.QueuedMessage
		for len(accepted) < 5 {
			if r.IntN(6) == 0 {
				m := agent.QueuedMessage{ID: fmt.Sprint("m", len(accepted)+1), Text: "and more", Steer: r.IntN(3) > 0}
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
			late += min(1, len(base.Unanswered))
			if c.Phase == agent.ChildHasFailed {
				failed++
			}
			if c.Phase.Ended() && c.Answered != "" {
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
				e := agent.CallFound{Key: c.Key, Record: earlier.CallRecord(c)}
				require.NotNil(t, e.Record.Result, "seed %d: %s", seed, c.Key)
				require.True(t, again.state.Apply(e), "seed %d", seed)
				require.False(t, again.state.Apply(e), "seed %d: a second time", seed)
			}
			require.Equal(t, transcript(base), transcript(again.state), "seed %d", seed)
		}
		for _, c := range base.Children {
			known, ok := again.state.Child(c.Key)
			require.True(t, ok)
			if c.Phase.Ended() {
				require.Equal(t, c.Phase, known.Phase, "seed %d", seed)
			}
			require.NotEqual(t, agent.ChildAsked, known.Phase)
			if c.Phase != agent.ChildHasAnswered { // a result that comes now has the same effect in both runs
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
		switch open := c.Unwatched(); {
		case r.IntN(12) > 0:
		case open && r.IntN(3) == 0:
			w.state.Apply(agent.ChildFinished{Key: c.Key, Result: agent.ChildFailed(c.Agent, "failure of "+string(c.Key), 0)})
		case open || c.Phase == agent.ChildHasFailed:
			w.state.Apply(agent.ChildFinished{Key: c.Key, Result: agent.Result{Content: imitation(r, c.Key) + "late answer of " + string(c.Key)}})
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
		w.state.Apply(agent.ChildFinished{Key: c.Child, Result: agent.Result{Content: imitation(r, c.Child) + "answer of " + string(c.Child) + pick(r, "", "; outcome unknown — check before you retry")}})
	}
}

// imitation returns the beginning of one of the texts that this package writes into a transcript, or "". Whatever a sub-agent answers, only
// the agent itself says what has become of a call.
func imitation(r *rand.Rand, child agent.Key) string {
	return pick(r, "", "no result: ", "not run: ", "error: the agent clerk ended without an answer: ", "started: the agent works in the background under the handle "+child.Handle(),
		"The call c1 of clerk, which had no result, has its result now:\n\n")
}

// A person has changed the arguments of a call for a sub-agent. After a reset, the model is told so once, as before.
func TestEditedCallForASubAgentIsRecalledAsItWasTold(t *testing.T) {
	run := func(earlier *agent.State) *agent.State {
		s := agent.New("a", agent.Start{Agent: "x", Incarnation: "l", Mode: agent.Chat, Message: &agent.QueuedMessage{ID: "m1", Text: "go"}}, 0)
		s.Apply(agent.DefinitionLoaded{Key: s.Next().(agent.Load).Key, Definition: agent.Definition{
			Name: "x", Candidates: []llm.Candidate{{Name: "main", Model: "m"}}, Limits: agent.Limits{Depth: 1},
			Tools: []agent.Tool{{Name: "clerk", Agent: "clerk", Approval: true}},
		}})
		s.Advance(0)
		if earlier != nil {
			s.Apply(agent.Rewound{Run: "second"})
			s.Apply(agent.MessagesFound{Run: "second", Decisions: earlier.Decisions})
		}
		calls(t, s, "clerk", `{"task":"delete"}`)
		if earlier == nil {
			s.Apply(agent.Decided{Decision: agent.Decision{Key: s.Pending()[0].Key, Approve: true, Arguments: `{"task":"look"}`}})
			s.Apply(agent.ChildFinished{Key: s.Pending()[0].Child, Result: agent.ChildAnswered("done", 0)})
		} else {
			call := s.Pending()[0]
			s.Apply(agent.CallFound{Key: call.Key, Record: earlier.CallRecord(call)})
		}
		return s
	}
	first := run(nil)
	require.Contains(t, first.Messages[2].Content, "A person changed the arguments")
	require.Equal(t, transcript(first), transcript(run(first)))
}

// What a run says of the call of a sub-agent holds for all that it knows: the reply that is in flight, what still older runs have said, and
// who decided on the call. The small worlds have shown what a later run does otherwise.
func TestRecordOfASubAgentsCall(t *testing.T) {
	s := agent.New("a", agent.Start{Agent: "x", Incarnation: "l", Mode: agent.Chat, Message: &agent.QueuedMessage{ID: "m1", Text: "go"}}, 0)
	s.Apply(agent.DefinitionLoaded{Key: s.Next().(agent.Load).Key, Definition: agent.Definition{
		Name: "x", Candidates: []llm.Candidate{{Name: "main", Model: "m"}}, Limits: agent.Limits{Depth: 1},
		Tools: []agent.Tool{{Name: "scout", Agent: "scout", Background: true, Approval: true}},
	}})
	s.Advance(0)
	calls(t, s, "scout", `{"task":"look"}`)
	call := s.Pending()[0]
	s.Apply(agent.Decided{Decision: agent.Decision{Key: call.Key, Approve: true, Actor: agent.Actor{By: "ann"}}})
	call = agent.Call{Key: call.Key, Name: "scout", CallID: call.CallID}
	require.Equal(t, 3, s.Count())
	require.Equal(t, 3, s.CallRecord(call).After)
	require.Equal(t, "ann", s.CallRecord(call).Decider.By)

	s.Apply(agent.ModelAsked{Key: s.Next().(agent.CallModel).Key})
	told := s.CallRecord(call)
	require.Equal(t, 4, told.After, "the model was asked for a reply without the sub-agent's answer")

	later := told
	later.After, later.Phase = 3, agent.ChildHasFailed
	all, more := later.Join(told)
	require.True(t, more, "an older run may have gone on for longer")
	require.Equal(t, 4, all.After)

	child := s.Children[0].Key
	s.Children[0].After = 9 // from a still older run
	require.Equal(t, 9, s.CallRecord(agent.Call{Key: call.Key, Child: child}).After)
}
