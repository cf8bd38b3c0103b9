package gateway

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/conversation"
	"github.com/reagent-dev/reagent/llm"
)

func user(id, text string) agent.Message {
	return agent.Message{Message: llm.Message{Role: llm.User, Content: text}, Key: agent.Key(id)}
}

func says(key, text string, tools ...string) agent.Message {
	m := agent.Message{Message: llm.Message{Role: llm.Assistant, Content: text}, Key: agent.Key(key)}
	for _, name := range tools {
		m.ToolCalls = append(m.ToolCalls, llm.ToolCall{ID: name, Name: name, Arguments: "{}"})
	}
	return m
}

func result(key string, waited ...agent.Waited) agent.Message {
	return agent.Message{Message: llm.Message{Role: llm.Tool, Content: "done", ToolCallID: key}, Key: agent.Key(key), Waited: waited}
}

// life has all that ends a section: answers, waits of several rounds, a corrected answer, and a turn that was interrupted.
func life() []agent.Message {
	steered, corrected, client := user("m2", "hurry"), user("", "mend it"), user("m5", "weather")
	steered.Steer, corrected.Notice = true, true
	client.Overrides.ClientTools = []agent.ClientTool{{Name: "weather"}}
	return []agent.Message{
		user("m1", "pay"),
		says("model-1", "I pay.", "pay", "look", "deploy"),
		result("tool-1", agent.Waited{For: agent.WaitsForApproval, Key: "tool-1", Round: 1}),
		result("tool-2", agent.Waited{For: agent.WaitsForAnswer, Key: "tool-2", Round: 2}),
		result("tool-3", agent.Waited{For: agent.WaitsForApproval, Key: "tool-3", Round: 1}, agent.Waited{For: agent.WaitsForResult, Key: "tool-3", Round: 3}),
		steered,
		says("model-2", "wrong"),
		corrected,
		says("model-3", "right"),
		user("m3", "stop this"),
		says("model-4", "", "look"), result("tool-4"),
		user("m4", "go on"), // after an interrupt
		says("model-5", "Yes."),
		client,
		says("model-6", "", "weather"), result("tool-6", agent.Waited{For: agent.WaitsForResult, Key: "tool-6", Round: 1}),
		says("model-7", "Sun."),
	}
}

// sectionOf returns the events of a section, read up to the end of the list.
func sectionOf(list []conversation.Event, from start) (*section, []conversation.Event) {
	s := &section{from: from}
	var events []conversation.Event
	for _, e := range list {
		if s.read(e) {
			events = append(events, e)
		}
	}
	s.settle()
	return s, events
}

// Each event belongs to one section, and the sections follow each other: each knows where the one before it began.
func TestSectionsAreTheList(t *testing.T) {
	list := conversation.Of(0, life(), nil)
	starts := []start{{Message: "m1"}, {Reply: "model-1", Round: 1}, {Reply: "model-1", Round: 2}, {Message: "m3"}, {Message: "m4"}, {Message: "m5"}, {Reply: "model-6", Round: 1}}
	ends := []ending{waiting, waiting, answered, cut, answered, waiting, answered}
	var all []conversation.Event
	for i, from := range starts {
		s, events := sectionOf(list, from)
		require.True(t, s.begun, from)
		require.Equal(t, ends[i], s.end, from)
		if i == 0 {
			require.Nil(t, s.previous)
		} else {
			require.Equal(t, &starts[i-1], s.previous)
		}
		all = append(all, events...)
	}
	require.Equal(t, list, all)
	s, _ := sectionOf(list, start{Message: "m1"})
	require.Len(t, s.asks, 2, "both calls of the first round")
	for _, nowhere := range []start{{Message: "m2"}, {Message: "m9"}, {Reply: "model-1", Round: 3}, {Reply: "model-9", Round: 1}} {
		s, events := sectionOf(list, nowhere)
		require.False(t, s.begun, nowhere)
		require.Empty(t, events)
	}
}

// A stream of a part of the list is a beginning of the stream of all of it.
func TestStreamOnlyGrows(t *testing.T) {
	list := conversation.Of(0, life(), nil)
	streamOf := func(list []conversation.Event, from start) (all []streamEvent) {
		s := &section{from: from}
		p := newProjection(responseRef{Agent: "a", start: from}, "x", s, func(e streamEvent) {
			delete(e, "response") // it has what is known so far
			all = append(all, e)
		})
		begun := false
		for _, e := range list {
			belongs := s.read(e)
			if s.begun && !begun {
				begun = true
				p.begin()
			}
			if belongs {
				p.see(e)
			}
		}
		return all
	}
	for _, from := range []start{{Message: "m1"}, {Reply: "model-1", Round: 1}, {Reply: "model-1", Round: 2}, {Message: "m3"}, {Message: "m5"}} {
		whole := streamOf(list, from)
		require.NotEmpty(t, whole)
		for i := range list {
			part := streamOf(slices.Clone(list[:i]), from)
			for n, e := range part {
				require.Equal(t, whole[n], e, "%v after %d events", from, i)
			}
		}
	}
}
