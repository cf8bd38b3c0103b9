package agent_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
)

// guarded returns a chat that calls the model. It has the tool pay, which needs an approval, and the tool note, which needs none.
func guarded(id, incarnation string) *agent.State {
	s := agent.New(id, agent.Start{Agent: "x", Incarnation: incarnation, Mode: agent.Chat, Message: &agent.QueuedMessage{ID: "m1", Text: "go"}}, 0)
	s.Apply(agent.DefinitionLoaded{Key: s.Next().(agent.Load).Key, Definition: agent.Definition{
		Name: "x", Candidates: []llm.Candidate{{Name: "main", Model: "m"}}, Tools: []agent.Tool{{Name: "pay", Approval: true}, {Name: "note"}},
	}})
	s.Advance(0)
	return s
}

// calls lets the model call tools. Each pair of texts is the name of a tool and the arguments.
func calls(t *testing.T, s *agent.State, pairs ...string) {
	t.Helper()
	var all []llm.ToolCall
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, llm.ToolCall{ID: fmt.Sprint("c", i/2), Name: pairs[i], Arguments: pairs[i+1]})
	}
	require.True(t, s.Apply(agent.ModelReplied{Key: s.Next().(agent.CallModel).Key, Reply: llm.Reply{Message: llm.Message{ToolCalls: all}}}))
}

// A tool is found by its exact name. A call of a name that only looks the same is refused: it does not wait, it does not run, and it
// has neither the permission of the tool that it imitates nor the rule that this tool needs no approval.
func TestAttackLookAlikeNamesAreUnknownTools(t *testing.T) {
	t.Parallel()
	s := guarded("a", "l")
	calls(t, s, "pay", `{"n":1}`)
	first := s.Pending()[0].Key
	require.True(t, s.Apply(agent.Decided{Decision: agent.Decision{Key: first, Approve: true, Remember: agent.RememberTool}}))
	require.True(t, s.Apply(agent.ToolFinished{Key: first, Result: agent.Result{Content: "paid"}}))
	var pairs []string
	for _, name := range []string{"pаy", "pay\u200b", "\u2060pay", "pay ", "Pay", "PAY", "ｐａｙ", "pay\x00", "pay\n", "far.pay", "nоte", "note\u00ad", "Note", ""} {
		pairs = append(pairs, name, `{"n":1}`)
	}
	calls(t, s, pairs...)
	require.Empty(t, s.Pending())
	results := s.Messages[len(s.Messages)-len(pairs)/2:]
	for i, m := range results {
		require.Contains(t, m.Content, "error: there is no tool ", pairs[2*i])
		require.Nil(t, m.Decider)
	}
	calls(t, s, "pay", `{"n":1}`)
	require.True(t, s.Pending()[0].Decider.Remembered, "the true name has the permission")
}

// What runs after an approval is what the person saw, byte for byte. Arguments that two parsers may read in two ways are refused before
// anybody sees them.
func TestAttackWhatWasShownRuns(t *testing.T) {
	t.Parallel()
	for arguments, waits := range map[string]bool{
		`{"n":1}`:                       true,
		` { "n" : 1e0 } `:               true,
		`{"n":1,"N":2}`:                 true, // a person sees both
		`{"\u006e":1}`:                  true,
		`{"to":"a\u202eb"}`:             true,
		`{"to":"` + long + `"}`:         true,
		`{"n":1,"n":2}`:                 false,
		`{"n":1,"\u006e":2}`:            false,
		`{"to":{"n":1,"n":2}}`:          false,
		`{"to":[{"n":1,"n":1}]}`:        false,
		`{"to":"\ud800"}`:               false,
		"{\"to\":\"\xff\"}":             false,
		`{"n":1}{"n":2}`:                false,
		`{"n":1} // {"n":2}`:            false,
		"\ufeff{\"n\":1}":               false,
		"{\"n\":1}\x00":                 false,
		`[{"n":1}]`:                     false,
		`"{\"n\":1}"`:                   false,
		`{'n':1}`:                       false,
		"{\"to\":\"a\nb\"}":             false,
		`{"n":1,}`:                      false,
		`{"n":NaN}`:                     false,
		strings.Repeat(`{"n":`, 20_000): false,
	} {
		s := guarded("a", "l")
		calls(t, s, "pay", arguments)
		if !waits {
			require.Empty(t, s.Pending(), "%.40q", arguments)
			require.Contains(t, s.Messages[len(s.Messages)-1].Content, "are not a JSON object; the call was not run")
			continue
		}
		shown := s.Pending()[0]
		require.Equal(t, agent.WaitsForApproval, shown.WaitsFor())
		require.True(t, s.Apply(agent.Decided{Decision: agent.Decision{Key: shown.Key, Approve: true}}))
		run := s.Next().(agent.RunTools).Calls
		require.Len(t, run, 1)
		require.Equal(t, []string{arguments, arguments}, []string{shown.Arguments, run[0].Arguments})
		require.Equal(t, shown.Key, run[0].Key)
		require.False(t, run[0].Decider.Denied)
	}
}

// long is a text that every program cuts when it shows it.
var long = strings.Repeat("x", 100_000)

// A decision holds for one call of one agent, with the arguments that were shown. It is refused for other arguments, for another agent
// with the same conversation, and after the call has its result. If it comes again without having been checked, as after a reset, it
// changes nothing.
func TestAttackDecisionsAreReplayed(t *testing.T) {
	t.Parallel()
	s := guarded("a", "l")
	calls(t, s, "pay", `{"n":1}`, "pay", `{"n":1}`, "note", `{}`)
	first, second, note := s.Pending()[0].Key, s.Pending()[1].Key, s.Pending()[2].Key
	approve := agent.Decision{Key: first, Approve: true}
	require.NoError(t, s.AcceptsDecision(approve))
	ended := clone(s)
	ended.Outcome = &agent.Outcome{Status: agent.Cancelled}
	require.ErrorIs(t, ended.AcceptsDecision(approve), agent.ErrEnded)
	for name, d := range map[string]struct {
		decision agent.Decision
		want     error
	}{
		"a call without a question":  {agent.Decision{Key: note, Approve: true}, agent.ErrNotAsked},
		"a result for a tool":        {agent.Decision{Key: first, Result: &agent.GivenResult{Content: "paid"}}, agent.ErrNotExternal},
		"a call that does not exist": {agent.Decision{Key: "tool-00000000000000000000000000000000", Approve: true}, agent.ErrNoCall},
	} {
		require.ErrorIs(t, s.AcceptsDecision(d.decision), d.want, name)
	}
	require.Error(t, agent.Decision{Key: agent.Key(first.Handle()), Approve: true}.Check(), "a handle is no key")
	require.Error(t, agent.Decision{Key: first, Approve: true, Arguments: `{"n":1,"n":2}`}.Check())

	for name, other := range map[string]*agent.State{"another agent": guarded("b", "l"), "a later agent with the same ID": guarded("a", "k")} {
		calls(t, other, "pay", `{"n":1}`)
		require.ErrorIs(t, other.AcceptsDecision(approve), agent.ErrNoCall, name)
		other.Apply(agent.Decided{Decision: approve})
		require.Equal(t, agent.WaitsForApproval, other.Pending()[0].Wait.For, name)
	}
	changed := guarded("a", "l")
	calls(t, changed, "pay", `{"n":2}`)
	require.ErrorIs(t, changed.AcceptsDecision(approve), agent.ErrNoCall, "other arguments")

	edit := agent.Decision{Key: second, Approve: true, Arguments: `{"n":5}`}
	require.True(t, s.Apply(agent.Decided{Decision: approve}))
	require.True(t, s.Apply(agent.Decided{Decision: edit}))
	edited := s.Next().(agent.RunTools).Calls[1]
	require.NotEqual(t, second, edited.Key)
	require.Equal(t, `{"n":5}`, edited.Arguments)
	before := clone(s)
	for _, again := range []agent.Decision{
		approve, edit, {Key: first}, {Key: second, Approve: true}, {Key: second, Approve: true, Arguments: `{"n":1000}`}, {Key: edited.Key},
		{Key: edited.Key, Approve: true, Arguments: `{"n":1000}`},
	} {
		require.Error(t, s.AcceptsDecision(again), again)
		s.Apply(agent.Decided{Decision: again})
		require.Equal(t, before.Next(), s.Next(), "%+v", again)
	}
	for _, c := range s.Pending() {
		require.True(t, s.Apply(agent.ToolFinished{Key: c.Key, Result: agent.Result{Content: "done"}}))
	}
	require.ErrorIs(t, s.AcceptsDecision(agent.Decision{Key: edited.Key, Approve: true}), agent.ErrDecided)
	require.Error(t, s.AcceptsDecision(approve))

	// The same call in the next reply is another call: nobody has decided on it.
	calls(t, s, "pay", `{"n":1}`)
	require.Equal(t, agent.WaitsForApproval, s.Pending()[0].Wait.For)
}

// A sub-agent gets the task that a person has read. Arguments with two tasks, whose names differ in upper and lower case, are refused.
func TestAttackSubAgentWithTwoTasks(t *testing.T) {
	t.Parallel()
	for arguments, task := range map[string]string{
		`{"task":"look"}`:                    "look",
		`{"Task":"look"}`:                    "",
		`{"task":"look","TASK":"delete"}`:    "",
		`{"TASK":"delete","task":"look"}`:    "",
		`{"task":"look","taſk":"delete"}`:    "",
		`{"task":"look","ta\u017fk":"rm"}`:   "",
		`{"task":"a","instance":"b"}`:        "a",
		`{"task":"a","Continue":"00000000"}`: "",
	} {
		s := agent.New("a", agent.Start{Agent: "x", Incarnation: "l", Mode: agent.Chat, Message: &agent.QueuedMessage{ID: "m1", Text: "go"}}, 0)
		s.Apply(agent.DefinitionLoaded{Key: s.Next().(agent.Load).Key, Definition: agent.Definition{
			Name: "x", Candidates: []llm.Candidate{{Name: "main", Model: "m"}}, Tools: []agent.Tool{{Name: "clerk", Agent: "clerk", Approval: true}},
			Limits: agent.Limits{Depth: 1},
		}})
		s.Advance(0)
		calls(t, s, "clerk", arguments)
		require.Equal(t, arguments, s.Pending()[0].Arguments)
		require.True(t, s.Apply(agent.Decided{Decision: agent.Decision{Key: s.Pending()[0].Key, Approve: true}}))
		if task == "" {
			require.Empty(t, s.Children, arguments)
			require.Empty(t, s.Pending())
			continue
		}
		require.Equal(t, task, s.Children[0].Task, arguments)
	}
}

// The core answers these calls itself, without the schemas that tools have. Names of arguments that differ from theirs by the folding of
// letters are refused, alone and beside the right ones.
func TestAttackArgumentsOfTheCoreAreReadExactly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tool, arguments string
		taken           bool
	}{
		{agent.AskUser, `{"question":"delete a?"}`, true},
		{agent.AskUser, `{"QUESTION":"delete a?"}`, false},
		{agent.AskUser, `{"question":"delete a?","que\u017ftion":"ok?"}`, false},
		{agent.AskUser, `{"question":"ok?","choices":["no"],"choiceſ":["yes"]}`, false},
		{agent.Agents, `{}`, true},
		{agent.Agents, `{"to":"00000000","message":"go"}`, true},
		{agent.Agents, `{"ſtop":"00000000"}`, false},
		{agent.Agents, `{"to":"00000000","message":"go","Message":"stop"}`, false},
		{agent.Agents, `{"stop":"00000000","STOP":"11111111"}`, false},
		{"clerk", `{"task":"look"}`, true},
		{"clerk", `{"TASK":"look"}`, false},
		{"clerk", `{"tas\u212a":"look"}`, false},
		{"clerk", `{"task":"look","TASK":"delete"}`, false},
	} {
		s := agent.New("a", agent.Start{KeyVersion: agent.KeyVersion, Agent: "x", Incarnation: "l", Mode: agent.Chat, Message: &agent.QueuedMessage{ID: "m1", Text: "go"}}, 0)
		s.Apply(agent.DefinitionLoaded{Key: s.Next().(agent.Load).Key, Definition: agent.Definition{
			Name: "x", Candidates: []llm.Candidate{{Name: "main", Model: "m"}}, Limits: agent.Limits{Depth: 1},
			Tools: []agent.Tool{
				{Name: "clerk", Agent: "clerk"}, {Name: agent.Agents, Ref: agent.Agents},
				{Name: agent.AskUser, Ref: agent.AskUser, Effect: agent.EffectExternal},
			},
		}})
		s.Advance(0)
		calls(t, s, c.tool, c.arguments)
		told := ""
		for _, m := range s.Messages {
			if m.Role == llm.Tool {
				told = m.Content
			}
		}
		refused := strings.Contains(told, "was not asked") || strings.Contains(told, "do not fit") || strings.Contains(told, "error: give {}")
		require.Equal(t, c.taken, !refused, "%s %s: %s", c.tool, c.arguments, told)
	}
}
