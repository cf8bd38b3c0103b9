package agent_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
)

// guardedRun is one run of an agent with guardrails, whose model first asks the user and then answers. Its guardrails decide by words in
// the text: "bad" is refused, "loud" is changed, and about "odd" a person is asked.
type guardedRun struct {
	t     *testing.T
	s     *agent.State
	done  map[agent.Key]agent.Event // the ends of activities, also of earlier runs
	fresh int                       // activities that no earlier run had
	said  []agent.Decision
}

func newGuardedRun(t *testing.T, mode agent.Mode, done map[agent.Key]agent.Event) *guardedRun {
	s := agent.New("a", agent.Start{Incarnation: "l", Agent: "x", Mode: mode}, 0)
	s.Apply(agent.DefinitionLoaded{Key: s.Next().(agent.Load).Key, Definition: agent.Definition{
		Name: "x", Candidates: []llm.Candidate{{Name: "main", Model: "m"}},
		Tools:      []agent.Tool{{Name: agent.AskUser, Effect: agent.EffectExternal}},
		Guardrails: agent.Guardrails{Messages: []string{"words", "tone"}, Answers: []string{"words"}},
	}})
	return &guardedRun{t: t, s: s, done: done}
}

func (g *guardedRun) receive(id, text string) {
	require.True(g.t, g.s.Apply(agent.MessageReceived{Message: agent.QueuedMessage{ID: id, Text: text}}))
}

// rest lets the agent go on until somebody outside has to act.
func (g *guardedRun) rest() {
	g.t.Helper()
	for range 200 {
		g.s.Advance(0)
		switch step := g.s.Next().(type) {
		case agent.CheckText:
			g.finish(step.Key, func() agent.Event { return agent.TextChecked{Key: step.Key, Verdict: verdict(step.Text)} })
		case agent.CallModel:
			g.finish(step.Key, func() agent.Event { return agent.ModelReplied{Key: step.Key, Reply: guardedReply(g.s)} })
		case agent.FindMessages:
			g.s.Apply(agent.MessagesFound{Run: g.s.Reset})
		default:
			return
		}
	}
	require.Fail(g.t, "the agent does not come to rest")
}

func (g *guardedRun) finish(key agent.Key, end func() agent.Event) {
	if g.done[key] == nil {
		g.fresh++
		g.done[key] = end()
	}
	require.True(g.t, g.s.Apply(g.done[key]), "%#v", g.done[key])
}

func (g *guardedRun) say(d agent.Decision) {
	d.Key = g.asked()
	require.NoError(g.t, g.s.AcceptsDecision(d))
	require.True(g.t, g.s.Apply(agent.Decided{Decision: d}))
	g.said = append(g.said, d)
	g.rest()
}

// asked returns the key of what waits for a person.
func (g *guardedRun) asked() agent.Key {
	open := g.s.Open()
	i := slices.IndexFunc(open, func(c agent.Call) bool { return c.WaitsFor() != "" })
	require.GreaterOrEqual(g.t, i, 0, "nobody is asked")
	return open[i].Key
}

func verdict(text string) agent.Verdict {
	switch {
	case strings.Contains(text, "bad"):
		return agent.Verdict{Action: agent.TextRefused, Reason: "mind your words"}
	case strings.Contains(text, "loud"):
		return agent.Verdict{Action: agent.TextChanged, Text: strings.ReplaceAll(text, "loud", "quiet")}
	case strings.Contains(text, "odd"):
		return agent.Verdict{Action: agent.TextAsks, Reason: "what is that?"}
	}
	return agent.Verdict{Action: agent.TextAllowed}
}

// guardedReply is the reply of the model: a question for a message with "ask", and otherwise what the message says after "say".
func guardedReply(s *agent.State) llm.Reply {
	last := s.Messages[len(s.Messages)-1]
	if last.Role == llm.User && strings.Contains(last.Content, "ask") {
		return llm.Reply{Message: llm.Message{ToolCalls: []llm.ToolCall{{ID: "c", Name: agent.AskUser, Arguments: `{"question":"which?"}`}}}}
	}
	_, answer, _ := strings.Cut(last.Content, "say ")
	answer = strings.NewReplacer("b-d", "bad", "l-d", "loud", "o-d", "odd").Replace(answer)
	return llm.Reply{Message: llm.Message{Content: "I say " + answer}}
}

func given(text string) agent.Decision {
	return agent.Decision{Result: &agent.GivenResult{Content: text}}
}

// A run that a reset began makes nothing again: it gets the verdicts of the earlier run and what people decided there. What was refused
// stays out, although the reset delivers it again.
func TestVerdictsHoldAfterAReset(t *testing.T) {
	messages := []string{
		"say hello", "a bad word", "a loud word, say yes", "an odd word, say yes", "an odd word that is denied",
		"say b-d", "say l-d", "say o-d", "say o-d and deny", "ask me, say this", "ask me again",
	}
	first := newGuardedRun(t, agent.Chat, map[agent.Key]agent.Event{})
	var unanswered []string
	for i, text := range messages {
		first.receive(fmt.Sprint("m", i), text)
		first.rest()
		for first.s.Status() == agent.Waiting && first.s.WaitsFor() != agent.WaitsForMessage {
			switch {
			case first.s.WaitsFor() == agent.WaitsForApproval:
				first.say(agent.Decision{Approve: !strings.Contains(text, "den"), Reason: "no"})
			case strings.Contains(text, "again"):
				first.say(given("the bad one"))
			default:
				first.say(given("the loud one"))
			}
		}
		if r := first.s.Refusal(); r != nil {
			unanswered = append(unanswered, fmt.Sprintf("%s of %q", r.Kind, text))
		}
	}
	require.Equal(t, []string{
		`message of "a bad word"`, `message of "an odd word that is denied"`, `answer of "say b-d"`, `answer of "say o-d and deny"`,
	}, unanswered)
	var got []string
	for _, m := range first.s.Messages {
		got = append(got, fmt.Sprintf("%s: %s", m.Role, m.Content))
	}
	require.Equal(t, []string{
		"user: say hello", "assistant: I say hello",
		"user: a quiet word, say yes", "assistant: I say yes",
		"user: an odd word, say yes", "assistant: I say yes",
		"user: say b-d", "assistant: The answer was refused by the guardrail words: mind your words",
		"user: say l-d", "assistant: I say quiet",
		"user: say o-d", "assistant: I say odd",
		"user: say o-d and deny", "assistant: The answer was refused by a person, whom the guardrail words had asked: no",
		"user: ask me, say this", "assistant: ", "tool: the quiet one", "assistant: I say ",
		"user: ask me again", "assistant: ", "tool: The message was refused by the guardrail words: mind your words", "assistant: I say ",
	}, got)
	require.Equal(t, "The message was refused by the guardrail words: mind your words", first.s.RefusedMessage("m1").Reply())
	require.Equal(t, "The message was refused by a person, whom the guardrail words had asked: no", first.s.RefusedMessage("m4").Reply())

	again := newGuardedRun(t, agent.Chat, first.done)
	require.True(t, again.s.Apply(agent.Rewound{Run: "second"}))
	for i, text := range messages {
		again.receive(fmt.Sprint("m", i), text)
	}
	for _, d := range first.said {
		require.True(t, again.s.Apply(agent.Decided{Decision: d}))
	}
	for again.rest(); again.s.Status() == agent.Running; again.rest() {
		for _, c := range again.s.Pending() { // the other runs know nothing of the questions
			again.s.Apply(agent.CallFound{Key: c.Key})
		}
	}
	require.Zero(t, again.fresh, "something is made again")
	require.Equal(t, transcript(first.s), transcript(again.s))
	require.Equal(t, len(first.s.Refused), len(again.s.Refused))
	require.Empty(t, again.s.Checks)
}

// A person has refused a text in another run. Its guardrail lets the text through now, and the person's decision holds all the same.
func TestPersonsDecisionOnATextHoldsInEveryRun(t *testing.T) {
	for _, early := range []bool{true, false} {
		g := newGuardedRun(t, agent.Chat, map[agent.Key]agent.Event{})
		require.True(t, g.s.Apply(agent.Rewound{Run: "second"}))
		g.receive("m1", "a word")
		key := g.s.Next().(agent.FindMessages).Then.(agent.CheckText).Key
		if early {
			require.False(t, g.s.Apply(agent.TextChecked{Key: key, Verdict: agent.Verdict{Action: agent.TextAllowed}}), "before the search")
		}
		g.s.Apply(agent.MessagesFound{Run: "second", Decisions: []agent.Decision{{Key: key, Reason: "no"}}})
		g.rest()
		require.Empty(t, g.s.Messages)
		require.Equal(t, agent.TextRefused, g.s.RefusedMessage("m1").Action)
	}
}

// A decision names one check, so it lets one text through one guardrail.
func TestDecisionOnATextIsForOneGuardrail(t *testing.T) {
	g := newGuardedRun(t, agent.Chat, map[agent.Key]agent.Event{})
	g.receive("m1", "an odd word, say yes")
	g.rest()
	key := g.asked()
	require.Contains(t, g.s.Open()[0].Arguments, `"reason":"what is that?"`)
	require.ErrorIs(t, g.s.AcceptsDecision(agent.Decision{Key: key, Approve: true, Remember: agent.RememberTool}), agent.ErrText)
	require.ErrorIs(t, g.s.AcceptsDecision(agent.Decision{Key: key, Approve: true, Arguments: "{}"}), agent.ErrText)
	require.ErrorIs(t, g.s.AcceptsDecision(agent.Decision{Key: key, Result: &agent.GivenResult{Content: "x"}}), agent.ErrNoCall)
	g.say(agent.Decision{Approve: true})
	require.NotEqual(t, key, g.asked())
	require.Empty(t, g.s.Messages)
	require.Equal(t, agent.WaitsForApproval, g.s.WaitsFor())
	require.True(t, g.s.Apply(agent.Closed{}))
	require.IsType(t, agent.Wait{}, g.s.Next(), "a close ends no wait for a person")
	g.say(agent.Decision{Approve: true})
	require.Equal(t, "I say yes", g.s.Answer())
}

// The only message of a task was refused, so there is nothing to do.
func TestTaskWhoseMessageIsRefusedFails(t *testing.T) {
	g := newGuardedRun(t, agent.Task, map[agent.Key]agent.Event{})
	require.IsType(t, agent.Wait{}, g.s.Next())
	g.receive("m1", "a bad word")
	g.rest()
	require.Equal(t, agent.Outcome{
		Status: agent.Failed, Class: agent.MessageRefused, Message: "The message was refused by the guardrail words: mind your words",
	}, *g.s.Outcome)
}

// An interrupted turn waits for a message. One that is refused is none, so the turn stays held.
func TestInterruptedTurnWaitsForAMessageThatIsNotRefused(t *testing.T) {
	g := newGuardedRun(t, agent.Chat, map[agent.Key]agent.Event{})
	g.receive("m1", "ask me, say this")
	g.rest()
	require.True(t, g.s.Apply(agent.Interrupt{Actor: agent.Actor{By: "ann"}}.Stopped(0)))
	g.receive("m2", "a bad word")
	g.rest()
	require.Equal(t, agent.Held, g.s.Status())
	g.receive("m3", "say that")
	g.rest()
	require.Equal(t, "I say that", g.s.Answer())
}

// An interrupt stops no check. The answer stays withheld until the turn goes on.
func TestAnswerThatIsJudgedSurvivesAnInterrupt(t *testing.T) {
	g := newGuardedRun(t, agent.Chat, map[agent.Key]agent.Event{})
	g.receive("m1", "say o-d")
	g.rest()
	require.Zero(t, g.s.Deadline())
	require.True(t, g.s.Apply(agent.Interrupt{Actor: agent.Actor{By: "ann"}}.Stopped(0)))
	require.Empty(t, g.s.Answer())
	g.receive("m2", "say that")
	g.rest()
	g.say(agent.Decision{Approve: true})
	require.Equal(t, []string{"say o-d", "I say odd", "say that", "I say that"}, contents(g.s))
}

func contents(s *agent.State) (all []string) {
	for _, m := range s.Messages {
		all = append(all, m.Content)
	}
	return all
}

// A notification says that a text waits, what it is, and why a person is asked.
func TestNotificationSaysWhichTextWaits(t *testing.T) {
	g := newGuardedRun(t, agent.Chat, map[agent.Key]agent.Event{})
	g.s.Definition.Notify = []agent.Hook{{Name: "pager", On: []agent.Occasion{agent.OnWaits}}}
	g.receive("m", "an odd word")
	g.rest()
	require.True(t, g.s.Apply(agent.NotificationsDue{}))
	call := g.s.Notifications[0].Calls[0]
	require.Equal(t, []any{"words", agent.TextMessage, "what is that?"}, []any{call.Tool, call.Subject, call.Reason})
	asked, ok := g.s.Open()[0].AskedText()
	require.True(t, ok)
	require.Equal(t, agent.AskedText{Kind: agent.TextMessage, Text: "an odd word", Reason: "what is that?"}, asked)
}
