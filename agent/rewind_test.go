package agent_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
)

// A reset delivers all messages at once, before the first workflow task. The agent takes the same path again: it asks
// for no new effect, and its transcript is the same. Steering messages do not change this. The messages that other runs
// took come after it.
func TestResetTakesTheSameWay(t *testing.T) {
	steered := 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 6))
		first := &walk{t: t, seed: seed, state: chat(), done: map[agent.Key]agent.Event{}}
		accepted := first.wander(r)
		steered += len(slices.DeleteFunc(slices.Clone(accepted), func(m agent.QueuedMessage) bool { return !m.Steer }))

		again := &walk{t: t, seed: seed, state: chat(), done: first.done, known: first.state.Count()}
		if seed%2 == 0 {
			again.found = []agent.QueuedMessage{{ID: "steered another run", Text: "t", Steer: true, After: r.IntN(30)}, {ID: "of another run", Text: "t"}}
		}
		require.True(t, again.state.Apply(agent.Rewound{Run: "second"}))
		require.False(t, again.state.Apply(agent.Rewound{Run: "second"}))
		for _, m := range accepted {
			require.NoError(t, again.state.Accepts(m))
			require.True(t, again.state.Apply(agent.MessageReceived{Message: m}))
		}
		again.rest()
		require.Equal(t, transcript(first.state), transcript(again.state)[:len(transcript(first.state))], "seed %d", seed)
		var found []string
		for _, m := range again.state.Messages {
			if strings.HasSuffix(string(m.Key), "another run") {
				found = append(found, string(m.Key))
			}
		}
		if again.state.Hold == nil { // a held agent does not go on to the last message by itself
			require.Len(t, found, len(again.found), "seed %d", seed)
		}
		require.True(t, slices.IsSortedFunc(found, func(a, b string) int { return strings.Compare(b, a) }), "seed %d: %v", seed, found)
	}
	require.Greater(t, steered, 500)
}

// A steering message that is sent after a reset enters after the earlier steering messages, which the reset delivers
// again.
func TestSteeringMessageAfterAResetKeepsTheOrder(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		first := &walk{t: t, seed: seed, state: chat(), done: map[agent.Key]agent.Event{}}
		var steering []agent.QueuedMessage
		for _, m := range first.wander(r) {
			if m.Steer {
				if r.IntN(4) == 0 {
					m.After = 0 // the client did not know the place
				}
				steering = append(steering, m)
			}
		}
		again := &walk{t: t, seed: seed, state: chat(), done: first.done}
		require.True(t, again.state.Apply(agent.Rewound{Run: "second"}))
		for _, m := range steering {
			require.True(t, again.state.Apply(agent.MessageReceived{Message: m}))
		}
		for range r.IntN(6) {
			again.step(r.IntN)
		}
		sent := agent.QueuedMessage{ID: "sent after the reset", Text: "and more", Steer: true, After: again.state.Entry()}
		require.True(t, again.state.Apply(agent.MessageReceived{Message: sent}))
		again.rest()

		var want, got []string
		for _, m := range append(steering, sent) {
			want = append(want, m.ID)
		}
		for _, m := range again.state.Messages {
			if slices.Contains(want, string(m.Key)) {
				got = append(got, string(m.Key))
			}
		}
		require.Equal(t, want[len(want)-len(got):], got, "seed %d", seed) // the first messages may be summarised
	}
}

// The messages that other runs took enter before a message that was sent to the run that was reset, wherever this
// message waits.
func TestMessagesOfOtherRunsEnterBeforeNewOnes(t *testing.T) {
	for _, steer := range []bool{false, true} {
		w := &walk{t: t, state: chat(), done: map[agent.Key]agent.Event{}}
		s := w.state
		require.True(t, s.Apply(agent.Rewound{Run: "second"}))
		if !steer {
			w.rest()
			require.True(t, s.Apply(agent.Rewound{Run: "third"}))
		}
		sent := agent.QueuedMessage{ID: "sent", Text: "t", Steer: steer, After: s.Entry()}
		require.True(t, s.Apply(agent.MessageReceived{Message: sent}))
		if steer {
			w.step(func(int) int { return 0 }) // reads the definition
			s.Advance(0)
		}
		require.IsType(t, agent.FindMessages{}, s.Next())
		require.True(t, s.Apply(agent.MessagesFound{Run: s.Reset, Order: []string{"steered another run", "of another run", "sent"}, Messages: []agent.QueuedMessage{
			{ID: "steered another run", Text: "t", Steer: true, After: 50}, {ID: "of another run", Text: "t", Steer: steer},
		}}))
		w.rest()
		var got []agent.Key
		for _, m := range s.Messages {
			if m.Role == llm.User && m.Key != "m0" {
				got = append(got, m.Key)
			}
		}
		require.Equal(t, []agent.Key{"steered another run", "of another run", "sent"}, got)
	}
}

// A steering message that another run took waits for its place. A later steering message does not overtake it.
func TestSteeringMessageDoesNotOvertakeOneThatWaitsForItsPlace(t *testing.T) {
	w := &walk{t: t, state: chat(), done: map[agent.Key]agent.Event{}}
	s := w.state
	require.True(t, s.Apply(agent.Rewound{Run: "second"}))
	for _, id := range []string{"earlier", "later"} {
		require.True(t, s.Apply(agent.MessageReceived{Message: agent.QueuedMessage{ID: id, Text: "t", Steer: true}}))
	}
	w.step(func(int) int { return 0 }) // reads the definition
	s.Advance(0)
	require.IsType(t, agent.FindMessages{}, s.Next())
	require.True(t, s.Apply(agent.MessagesFound{Run: s.Reset, Places: map[string]agent.Place{"earlier": {At: 2, Behind: "model-of-the-other-run"}}}))
	w.rest()
	var got []agent.Key
	for _, m := range s.Messages {
		if m.Role == llm.User && m.Key != "m0" {
			got = append(got, m.Key)
		}
	}
	require.Equal(t, []agent.Key{"earlier", "later"}, got)
}

// MessagesFound.Order may lack the IDs of the last messages. These messages stay after all other messages.
func TestMessageWithoutAPlaceIsTheLast(t *testing.T) {
	s := chat()
	require.True(t, s.Apply(agent.Rewound{Run: "second"}))
	for _, id := range []string{"first", "last"} {
		require.True(t, s.Apply(agent.MessageReceived{Message: agent.QueuedMessage{ID: id, Text: "t"}}))
	}
	require.True(t, s.Apply(agent.MessagesFound{Run: "second", Order: []string{"m0", "found", "first"}, Messages: []agent.QueuedMessage{
		{ID: "found", Text: "t"}, {ID: "found without a place", Text: "t"},
	}}))
	require.Equal(t, []string{"m0", "found", "first", "last", "found without a place"}, inboxIDs(s))
}

// The run that was reset began with m0. No other run that still exists knows m0.
func TestMessageOfTheStartIsTheFirst(t *testing.T) {
	s := chat()
	require.True(t, s.Apply(agent.Rewound{Run: "second"}))
	require.True(t, s.Apply(agent.MessagesFound{Run: "second", Order: []string{"found"}, Messages: []agent.QueuedMessage{{ID: "found", Text: "t"}}}))
	require.Equal(t, []string{"m0", "found"}, inboxIDs(s))

	t.Run("a run that has yet to search may begin with later ones", func(t *testing.T) {
		s := chat()
		require.True(t, s.Apply(agent.Rewound{Run: "second"}))
		require.True(t, s.Apply(agent.MessageReceived{Message: agent.QueuedMessage{ID: "later", Text: "t"}}))
		require.True(t, s.Apply(agent.Rewound{Run: "third"}))
		require.True(t, s.Apply(agent.MessagesFound{Run: "third", Order: []string{"found", "later"}, Messages: []agent.QueuedMessage{{ID: "found", Text: "t"}}}))
		require.Equal(t, []string{"m0", "found", "later"}, inboxIDs(s))
	})
}

func inboxIDs(s *agent.State) (ids []string) {
	for _, m := range s.Queue {
		ids = append(ids, m.ID)
	}
	return ids
}

func chat() *agent.State {
	return agent.New("a", agent.Start{
		Incarnation: "l", Agent: "x", Mode: agent.Chat, Message: &agent.QueuedMessage{ID: "m0", Text: "the task"},
	}, 0)
}

// walk is an agent with recorded effects. An effect without a record is made and recorded.
type walk struct {
	t     *testing.T
	seed  uint64
	state *agent.State
	done  map[agent.Key]agent.Event // the event at the end of each effect
	known int                       // until the transcript has this many messages, every effect must have a record
	found []agent.QueuedMessage     // messages that a search of other runs finds
	roomy bool                      // if true, no conversation is too long
}

// wander lets the agent go on while messages arrive at random times, and returns the messages.
func (w *walk) wander(r *rand.Rand) []agent.QueuedMessage {
	var accepted []agent.QueuedMessage
	for len(accepted) < 6 {
		if r.IntN(3) == 0 {
			m := agent.QueuedMessage{ID: fmt.Sprint("m", len(accepted)+1), Text: "and more", Steer: r.IntN(3) > 0}
			if m.Steer {
				m.After = w.state.Entry()
			}
			require.True(w.t, w.state.Apply(agent.MessageReceived{Message: m}))
			accepted = append(accepted, m)
		}
		w.step(r.IntN)
	}
	w.rest()
	return accepted
}

// rest lets the agent go on until it waits.
func (w *walk) rest() {
	for range 2000 {
		if _, waits := w.state.Next().(agent.Wait); waits {
			return
		}
		w.step(func(int) int { return 0 })
	}
	w.t.Fatal("the agent did not come to rest")
}

// step lets one thing happen: an effect ends, or the agent carries out a step without an effect.
func (w *walk) step(choose func(int) int) {
	w.state.Advance(0)
	switch step := w.state.Next().(type) {
	case agent.Load:
		w.state.Apply(agent.DefinitionLoaded{Key: step.Key, Definition: definition()})
	case agent.FindMessages:
		e := agent.MessagesFound{Run: w.state.Reset, Messages: w.found}
		for _, m := range slices.Concat(w.state.Queue, w.found) {
			e.Order = append(e.Order, m.ID)
		}
		w.state.Apply(e)
	case agent.CallModel:
		// A message may come between the request and the reply.
		if !w.state.Apply(agent.ModelAsked{Key: step.Key}) {
			w.finish(step.Key, func() agent.Event { return w.answer(step.Key) })
		}
	case agent.Compact:
		w.finish(step.Key, func() agent.Event {
			return agent.ModelReplied{Key: step.Key, Reply: llm.Reply{Message: llm.Message{Content: "summary"}}}
		})
	case agent.RunTools:
		c := step.Calls[choose(len(step.Calls))]
		result := agent.Result{Content: "result of " + string(c.Key)}
		if c.Child != "" {
			w.finish(c.Child, func() agent.Event { return agent.ChildFinished{Key: c.Child, Result: result} })
		} else {
			w.finish(c.Key, func() agent.Event { return agent.ToolFinished{Key: c.Key, Result: result} })
		}
	}
}

func (w *walk) finish(key agent.Key, effect func() agent.Event) {
	e, done := w.done[key]
	if !done {
		require.GreaterOrEqual(w.t, w.state.Count(), w.known, "seed %d: %s was not asked for before: %v", w.seed, key, transcript(w.state))
		e = effect()
		w.done[key] = e
	}
	require.True(w.t, w.state.Apply(e), "seed %d: %#v", w.seed, e)
}

// answer returns the reply of the model. Now and then, the model refuses the conversation as too long.
func (w *walk) answer(key agent.Key) agent.Event {
	if !w.roomy && w.state.SentCount() > 8 && key[len(key)-1] < '4' {
		return agent.ModelFailed{Key: key, Class: string(llm.ContextTooLong), Message: "too long"}
	}
	return agent.ModelReplied{Key: key, Reply: reply(w.state)}
}

// An event that no earlier run can know ends the search for results: a message that was sent to this run, or a reply
// that no earlier run has. A resume searches for the effects that were asked for at that moment.
func TestEarlierRunsAreSearchedWhereTheyMayKnow(t *testing.T) {
	w := &walk{t: t, state: chat(), done: map[agent.Key]agent.Event{}}
	require.False(t, w.state.MayRecall("model-1"))
	w.rest()
	s := w.state

	require.True(t, s.Apply(agent.Rewound{Run: "second"}))
	require.True(t, s.MayRecall("model-1"))
	receive := func(id string, fresh bool) {
		require.True(t, s.Apply(agent.MessageReceived{Message: agent.QueuedMessage{ID: id, Text: "t", Fresh: fresh}}))
		s.Advance(0)
	}
	receive("delivered again", false)
	require.True(t, s.MayRecall("model-1"))
	w.rest()
	receive("new", true)
	require.False(t, s.MayRecall("model-1"))
	w.rest()

	require.True(t, s.Apply(agent.MessageReceived{Message: agent.QueuedMessage{ID: "new to the run that is reset", Text: "t", Fresh: true}}))
	require.True(t, s.Apply(agent.Rewound{Run: "third"}))
	require.True(t, s.Apply(agent.MessagesFound{Run: "third"}))
	s.Advance(0)
	require.True(t, s.MayRecall("model-1"))
	w.rest()
	receive("delivered again, too", false)
	asked := s.Next().(agent.CallModel).Key
	require.True(t, s.Apply(agent.ModelReplied{Key: asked, Reply: reply(s), New: true}))
	require.False(t, s.MayRecall("model-1"))

	open := s.Next().(agent.RunTools).Calls[0].Key
	require.True(t, s.Apply(agent.CancelRequested{}))
	require.True(t, s.Apply(agent.Resumed{RunID: "r"}))
	require.True(t, s.MayRecall(open), "the resume goes on with it")
	for _, c := range s.Pending() {
		require.True(t, s.Apply(agent.ToolFinished{Key: c.Key, Result: agent.Result{Content: "text"}}))
	}
	require.True(t, s.Apply(agent.CancelRequested{}))
	require.True(t, s.Apply(agent.Resumed{RunID: "r2"}))
	asked = s.Next().(agent.CallModel).Key
	require.True(t, s.MayRecall(asked))
	require.False(t, s.MayRecall("tool-1"))
}
