package agent_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/testkit/trajectory"
	"github.com/reagent-dev/reagent/llm"
)

// Recorded conversations of real models are passed through the core. The messages of each request equal the recorded
// messages before it.
func TestRecordedConversationsComeOutEqual(t *testing.T) {
	all, err := trajectory.Load("../testdata/trajectories")
	require.NoError(t, err)
	obstacles := map[string]int{}
	equal := 0
	for _, c := range all {
		if obstacle := replay(t, c); obstacle != "" {
			obstacles[obstacle]++
			continue
		}
		equal++
	}
	t.Logf("%d of %d conversations went through the core and came out equal; the others: %v", equal, len(all), obstacles)
	require.Equal(t, 264, equal)
}

func replay(t *testing.T, c trajectory.Conversation) (obstacle string) {
	messages := c.Messages
	// An agent only answers messages, so an assistant message before the first user message is left out.
	for len(messages) > 0 && messages[0].Role == llm.Assistant {
		messages = messages[1:]
	}
	for i, m := range messages {
		switch {
		case i == 0 && m.Role != llm.User:
			return "begins with calls that nobody asked for"
		case m.Role == llm.System:
			return "a system message in the middle"
		case i > 0 && m.Role == llm.Assistant && messages[i-1].Role == llm.Assistant:
			return "two assistant messages in a row"
		}
	}
	s := agent.New(c.ID, agent.Start{Incarnation: "l", Agent: "x", Mode: agent.Chat}, 0)
	load := s.Next().(agent.Load)
	def := agent.Definition{Candidates: []llm.Candidate{{Name: "main", Model: "m"}}, Instructions: c.System}
	for _, m := range messages {
		for _, call := range m.ToolCalls {
			if _, ok := def.Tool(call.Name); !ok {
				def.Tools = append(def.Tools, agent.Tool{Name: call.Name, Ref: call.Name})
			}
		}
	}
	s.Apply(agent.DefinitionLoaded{Key: load.Key, Definition: def})
	keys := map[agent.Key]bool{}
	for i, now := 0, int64(0); i < len(messages); now++ {
		switch m := messages[i]; m.Role {
		case llm.User:
			e := agent.MessageReceived{Time: now, Message: agent.QueuedMessage{ID: fmt.Sprint(i), Text: m.Content, Steer: true}}
			require.True(t, s.Apply(e), "%s: message %d", c.ID, i)
			require.True(t, s.Apply(agent.MessageTaken{ID: fmt.Sprint(i), Time: now}), "%s: message %d", c.ID, i)
			i++
		case llm.Assistant:
			step, ok := s.Next().(agent.CallModel)
			require.True(t, ok, "%s: message %d: %#v", c.ID, i, s.Next())
			require.False(t, keys[step.Key], "%s: message %d: one key twice", c.ID, i)
			keys[step.Key] = true
			requireSent(t, c.ID, messages[:i], s)
			require.True(t, s.Apply(agent.ModelReplied{Key: step.Key, Reply: llm.Reply{Message: m}, Time: now}), "%s: message %d", c.ID, i)
			i++
		case llm.Tool:
			i = answer(t, c.ID, s, messages, i, keys, now)
		}
	}
	requireSent(t, c.ID, messages, s)
	return ""
}

// answer gives the results of a batch in the reverse order of the calls.
func answer(t *testing.T, id string, s *agent.State, messages []llm.Message, i int, keys map[agent.Key]bool, now int64) int {
	results := map[string]string{}
	for ; i < len(messages) && messages[i].Role == llm.Tool; i++ {
		results[messages[i].ToolCallID] = messages[i].Content
	}
	step, ok := s.Next().(agent.RunTools)
	require.True(t, ok, "%s: message %d: %#v", id, i, s.Next())
	require.Len(t, step.Calls, len(results))
	for _, call := range slices.Backward(step.Calls) {
		require.False(t, keys[call.Key], "%s: message %d: one key twice", id, i)
		keys[call.Key] = true
		require.True(t, s.Apply(agent.ToolFinished{Key: call.Key, Result: agent.Result{Content: results[call.CallID], Time: now}}))
	}
	return i
}

func requireSent(t *testing.T, id string, want []llm.Message, s *agent.State) {
	require.Equal(t, len(want), s.SentCount(), id)
	for i, m := range want {
		if m.Role == llm.Tool && m.Content == "" {
			m.Content = "(no output)"
		}
		require.Equal(t, m, s.Sent(i), "%s: message %d", id, i)
	}
}
