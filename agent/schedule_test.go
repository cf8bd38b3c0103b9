package agent_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
)

// The transcript is always the same, and each key runs once. That holds for results in any order, for results that are
// delivered several times, and for restarts from JSON at any point.
func TestOneTranscriptWhateverTheSchedule(t *testing.T) {
	want := play(t, rand.New(rand.NewPCG(0, 0)), true)
	require.Greater(t, len(want.transcript), 30)
	for seed := range uint64(500) {
		got := play(t, rand.New(rand.NewPCG(seed, 1)), false)
		require.Equal(t, want.transcript, got.transcript, "seed %d", seed)
		require.Equal(t, want.keys, got.keys, "seed %d", seed)
	}
}

type played struct {
	transcript []string
	keys       []string // the keys of the effects that ran, each once
}

// play runs a chat of three messages with a model that asks for tools, equal
// calls and sub-agents.
func play(t *testing.T, r *rand.Rand, calm bool) played {
	s := agent.New("a", agent.Start{Incarnation: "l", Agent: "x", Mode: agent.Chat}, 0)
	ran := map[agent.Key]int{}
	pending := map[agent.Key]agent.Event{}
	now := int64(0)
	for i := range 3 {
		s.Apply(agent.MessageReceived{Message: agent.QueuedMessage{ID: fmt.Sprint("m", i), Text: fmt.Sprint("question ", i)}, Time: now})
	}
	start := func(key agent.Key, e func() agent.Event) {
		if ran[key]++; ran[key] == 1 {
			pending[key] = e()
		} else {
			// A restarted driver asks for the effect again. Temporal has an activity with this ID, or its result, so
			// the effect does not run again.
			ran[key] = 1
		}
	}
	for range 1000 {
		now += 1 + r.Int64N(1000)
		switch step := s.Next().(type) {
		case agent.Wait:
			return played{transcript(s), keys(t, ran)}
		case agent.Load:
			start(step.Key, func() agent.Event { return agent.DefinitionLoaded{Key: step.Key, Definition: definition()} })
		case agent.TakeMessage:
			twice(t, s, agent.MessageTaken{ID: step.ID, Time: now})
			continue
		case agent.CallModel:
			start(step.Key, func() agent.Event { return agent.ModelReplied{Key: step.Key, Reply: reply(s), Time: now} })
		case agent.RunTools:
			for _, c := range step.Calls {
				result := agent.Result{Content: "result of " + string(c.Key), Time: now}
				if c.Child != "" {
					start(c.Child, func() agent.Event { return agent.ChildFinished{Key: c.Child, Result: result} })
				} else {
					start(c.Key, func() agent.Event { return agent.ToolFinished{Key: c.Key, Result: result} })
				}
			}
		default:
			t.Fatalf("unexpected step %#v", step)
		}
		waiting := make([]agent.Key, 0, len(pending))
		for key := range pending {
			waiting = append(waiting, key)
		}
		slices.Sort(waiting)
		require.NotEmpty(t, waiting, "the agent waits for an effect that has ended")
		key := waiting[0]
		if !calm {
			key = waiting[r.IntN(len(waiting))]
		}
		e := pending[key]
		delete(pending, key)
		if !calm && r.IntN(3) == 0 {
			s = restart(t, s)
		}
		twice(t, s, e)
	}
	t.Fatal("the agent did not come to an end")
	return played{}
}

func twice(t *testing.T, s *agent.State, e agent.Event) {
	require.True(t, s.Apply(e), "%#v", e)
	require.False(t, s.Apply(e), "a second time: %#v", e)
}

func restart(t *testing.T, s *agent.State) *agent.State {
	text, err := json.Marshal(s)
	require.NoError(t, err)
	again := new(agent.State)
	require.NoError(t, json.Unmarshal(text, again))
	require.Equal(t, s.Next(), again.Next())
	return again
}

func definition() agent.Definition {
	return agent.Definition{
		Name: "x", Candidates: []llm.Candidate{{Name: "main", Model: "m"}},
		Tools:  []agent.Tool{{Name: "clerk", Agent: "clerk"}, {Name: "roll"}},
		Limits: agent.Limits{Depth: 1},
	}
}

// reply returns a model reply that depends only on the messages sent. In each turn, the first two replies have one to
// five calls each, and the third has text.
func reply(s *agent.State) llm.Reply {
	n := s.SentCount()
	asked := 0
	for i := n - 1; i >= 0 && s.Sent(i).Role != llm.User; i-- {
		if s.Sent(i).Role == llm.Assistant {
			asked++
		}
	}
	if asked == 2 {
		return llm.Reply{Message: llm.Message{Content: fmt.Sprint("answer after ", n)}}
	}
	var calls []llm.ToolCall
	for i := range 1 + n%5 {
		call := llm.ToolCall{ID: fmt.Sprint("c", i%2), Name: "roll", Arguments: "{}"}
		if i%3 == 2 {
			call = llm.ToolCall{Name: "clerk", Arguments: `{"task":"count"}`}
		}
		calls = append(calls, call)
	}
	return llm.Reply{Message: llm.Message{ToolCalls: calls}}
}

func transcript(s *agent.State) []string {
	var lines []string
	for _, m := range s.Messages {
		m.Time = 0
		text, _ := json.Marshal(m)
		lines = append(lines, string(text))
	}
	return lines
}

func keys(t *testing.T, ran map[agent.Key]int) []string {
	var all []string
	for key, n := range ran {
		require.Equal(t, 1, n, key)
		all = append(all, string(key))
	}
	slices.Sort(all)
	return all
}
