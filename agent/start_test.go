package agent_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
)

// A program that starts an agent by hand may leave out the version of the keys. It means the current one. In JSON that no program of this
// module has encoded, it means version 1 for ever, also in the next run of the agent.
func TestStartWithoutAVersionHasTheCurrentOne(t *testing.T) {
	byHand := agent.Start{Agent: "x", Message: &agent.QueuedMessage{ID: "1", Text: "hello"}}
	require.Equal(t, agent.KeyVersion, agent.New("a", byHand, 0).KeyVersion)
	sent, err := json.Marshal(byHand)
	require.NoError(t, err)
	var arrived, old agent.Start
	require.NoError(t, json.Unmarshal(sent, &arrived))
	require.Equal(t, agent.KeyVersion, arrived.Identity("a").KeyVersion)

	require.NoError(t, json.Unmarshal([]byte(`{"agent":"x"}`), &old))
	require.Equal(t, 1, old.Identity("a").KeyVersion)
	again, err := json.Marshal(&old)
	require.NoError(t, err)
	require.JSONEq(t, `{"agent":"x","key_version":1}`, string(again))
}

// The messages of a start are taken one after another, each when the one before has its answer. A task ends after the last answer.
func TestMessagesOfAStartAreTakenOneByOne(t *testing.T) {
	s := agent.New("a", agent.Start{Agent: "x", Message: &agent.QueuedMessage{ID: "1", Text: "one"}, Next: []agent.QueuedMessage{{ID: "2", Text: "two"}, {ID: "3", Text: "three"}}}, 0)
	load := s.Next().(agent.Load)
	require.True(t, s.Apply(agent.DefinitionLoaded{Key: load.Key, Definition: agent.Definition{Name: "x"}}))
	for n := 1; n <= 3; n++ {
		s.Advance(0)
		require.Equal(t, 2*n-1, s.Count())
		require.True(t, s.Apply(agent.ModelReplied{Key: s.Next().(agent.CallModel).Key, Reply: llm.Reply{Message: llm.Message{Content: "yes"}}}))
	}
	require.IsType(t, agent.Finish{}, s.Next())
	require.Error(t, agent.Start{Agent: "x", Mode: agent.Chat, Next: []agent.QueuedMessage{{ID: "1"}}}.Check())
	require.ErrorContains(t, agent.Start{Agent: "x", Mode: agent.Chat, Next: make([]agent.QueuedMessage, agent.MaxQueue)}.Check(), "the limit is 99")
}

// A definition that is read anew may send the messages in another form. The hash of the transcript is then that of the new form, as in an
// agent that has had the new definition from the beginning: in a resume and in a fork.
func TestDefinitionThatSendsNoReasoningAnyMore(t *testing.T) {
	made := func(reasons bool) *agent.State {
		s := agent.New("a", agent.Start{Agent: "x", Mode: agent.Chat, Message: &agent.QueuedMessage{ID: "1", Text: "one"}}, 0)
		s.Apply(agent.DefinitionLoaded{Key: s.Next().(agent.Load).Key, Definition: agent.Definition{Name: "x", SendReasoning: reasons}})
		s.Advance(0)
		reply := llm.Reply{Message: llm.Message{Content: "yes", Reasoning: "because"}}
		require.True(t, s.Apply(agent.ModelReplied{Key: s.Next().(agent.CallModel).Key, Reply: reply}))
		return s
	}
	for _, before := range []bool{true, false} {
		for _, after := range []bool{true, false} {
			resumed := made(before)
			require.True(t, resumed.Apply(agent.Resumed{RunID: "r", Reload: true}))
			fork, err := made(before).Fork(agent.Identity{AgentID: "b"}, agent.Chat, 2, 0)
			require.NoError(t, err)
			fork.Redefine(agent.Overrides{Model: "best"})
			require.Equal(t, "best", fork.Overrides.Model)
			for _, s := range []*agent.State{resumed, fork} {
				require.True(t, s.Apply(agent.DefinitionLoaded{Key: s.Next().(agent.Load).Key, Definition: agent.Definition{Name: "x", SendReasoning: after}}))
				require.Equal(t, made(after).TranscriptHash, s.TranscriptHash, "%v %v", before, after)
			}
		}
	}
}

// What is set in further overrides takes precedence, and nothing else changes.
func TestOverridesAreMerged(t *testing.T) {
	o := agent.Overrides{Model: "a", Instructions: "b", Tools: []string{"c"}, Limits: agent.Limits{Tokens: 1, ModelCalls: 2}}
	require.True(t, o.Equal(o.With(agent.Overrides{})))
	more := agent.Overrides{ReasoningEffort: "low", WholeInstructions: "d", Tools: []string{"e", "f"}, Limits: agent.Limits{Tokens: 3}}
	require.True(t, agent.Overrides{
		Model: "a", Instructions: "b", ReasoningEffort: "low", WholeInstructions: "d", Tools: []string{"e", "f"}, Limits: agent.Limits{Tokens: 3, ModelCalls: 2},
	}.Equal(o.With(more)))
}
