package agent_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
)

// The state knows what has become of a result, so its sender may send it again. It knows this before and after the call has taken the
// result, from a stored state, and when the transcript has the result.
func TestStateKnowsWhatHasBecomeOfAResult(t *testing.T) {
	s := agent.New("a", agent.Start{Agent: "x", Incarnation: "l", Mode: agent.Chat, Message: &agent.QueuedMessage{ID: "m1", Text: "deploy"}}, 0)
	require.True(t, s.Apply(agent.DefinitionLoaded{Key: s.Next().(agent.Load).Key, Definition: agent.Definition{
		Name: "x", Candidates: []llm.Candidate{{Name: "main", Model: "m"}}, Limits: agent.Limits{ToolResultBytes: 10},
		Tools: []agent.Tool{
			{Name: "deploy", Effect: agent.EffectExternal}, {Name: "hurry", Effect: agent.EffectExternal, ResultMS: 1},
			{Name: "ask", Effect: agent.EffectExternal, Approval: true}, {Name: "read"},
		},
	}}))
	s.Advance(0)
	before := clone(s)
	var calls []llm.ToolCall
	for _, name := range []string{"deploy", "hurry", "ask", "read"} {
		calls = append(calls, llm.ToolCall{ID: name, Name: name, Arguments: "{}"})
	}
	reply := agent.ModelReplied{Key: s.Next().(agent.CallModel).Key, Reply: llm.Reply{Message: llm.Message{ToolCalls: calls}}}
	require.True(t, s.Apply(reply))
	keys := map[string]agent.Key{}
	for _, c := range s.Pending() {
		keys[c.Name] = c.Key
	}
	given := func(call, content string, isError bool) agent.Decision {
		return agent.Decision{Key: keys[call], Result: &agent.GivenResult{Content: content, IsError: isError}}
	}
	const long = "deployed on all machines" // the transcript has a part of it
	require.ErrorIs(t, s.ResultGiven(given("deploy", long, false)), agent.ErrWaits)
	require.ErrorIs(t, s.ResultGiven(given("hurry", long, false)), agent.ErrWaits)
	require.ErrorIs(t, s.ResultGiven(given("ask", long, false)), agent.ErrNotExternal)
	require.ErrorIs(t, s.ResultGiven(given("read", long, false)), agent.ErrNotExternal)
	require.ErrorIs(t, before.ResultGiven(given("deploy", long, false)), agent.ErrNoCall)

	require.True(t, before.Apply(agent.Decided{Decision: given("deploy", long, false)}), "after a reset, before the call")
	require.NoError(t, before.ResultGiven(given("deploy", long, false)))
	require.ErrorIs(t, before.ResultGiven(given("deploy", long, true)), agent.ErrDecided)
	require.True(t, before.Apply(reply))

	require.True(t, s.Apply(agent.Decided{Decision: given("deploy", long, false)}))
	require.True(t, s.Apply(agent.WaitEnded{Time: 1000}))
	require.ErrorIs(t, s.ResultGiven(given("hurry", long, false)), agent.ErrDecided)
	require.True(t, s.Apply(agent.Decided{Decision: agent.Decision{Key: keys["ask"], Reason: "no"}}))
	require.True(t, s.Apply(agent.ToolFinished{Key: keys["read"], Result: agent.Result{Content: "read"}}))
	require.Empty(t, s.Pending())
	for _, state := range []*agent.State{s, clone(s), before} {
		require.NoError(t, state.ResultGiven(given("deploy", long, false)))
		require.ErrorIs(t, state.ResultGiven(given("deploy", long, true)), agent.ErrDecided)
		require.ErrorIs(t, state.ResultGiven(given("deploy", long+".", false)), agent.ErrDecided)
		for _, d := range state.Decisions {
			require.True(t, d.Result == nil || d.Result.Content == "", "the transcript has the result")
		}
	}
	for _, call := range []string{"hurry", "ask", "read"} {
		require.ErrorIs(t, s.ResultGiven(given(call, long, false)), agent.ErrDecided, call)
	}
}
