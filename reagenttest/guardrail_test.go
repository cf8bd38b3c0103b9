package reagenttest_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent"
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/reagenttest"
	"github.com/reagent-dev/reagent/tool"
)

// guarded returns the options of a program whose agent has guardrails. They decide by words in the text, and count how often they are
// asked. The model says what the last message asks it to say.
func guarded(asked *atomic.Int32) reagent.Options {
	model := reagenttest.Func(func(_ context.Context, r llm.Request) (llm.Reply, error) {
		last := r.Messages[len(r.Messages)-1]
		if last.Role == llm.User && strings.Contains(last.Content, "ask me") {
			return call("ask_user", `{"question":"which?"}`), nil
		}
		_, text, _ := strings.Cut(last.Content, "say ")
		return reagenttest.Say("I say " + strings.ReplaceAll(text, "-", "")), nil
	})
	return reagent.Options{
		Models: reagenttest.Models(model),
		Tools: []reagent.Tool{reagent.Guardrail("words", "Judges words.", func(_ context.Context, t tool.JudgedText) (tool.Verdict, error) {
			asked.Add(1)
			switch {
			case strings.Contains(t.Text, "bad"):
				return tool.Refuse("mind your words"), nil
			case strings.Contains(t.Text, "loud"):
				return tool.Change(strings.ReplaceAll(t.Text, "loud", "quiet")), nil
			case strings.Contains(t.Text, "odd"):
				return tool.Ask("what is odd?"), nil
			case strings.Contains(t.Text, "broken"):
				return tool.Verdict{}, errors.New("the judge is ill")
			}
			return tool.Allow(), nil
		})},
		Agents: []reagent.Agent{{Name: "clerk", Tools: []string{"ask_user"}, Guardrails: reagent.Guardrails{Messages: []string{"words"}, Answers: []string{"words"}}}},
	}
}

func TestGuardrailsJudgeWhatEntersAndWhatLeaves(t *testing.T) {
	inEach(t, func(t *testing.T, with func(testing.TB, reagent.Options) *reagenttest.Agents) {
		var asked atomic.Int32
		agents := with(t, guarded(&asked))
		chat := agents.Chat("clerk", "say hello").WantAnswer("I say hello")
		chat.Send("a bad word").WantAnswer("I say hello")
		chat.Send("a loud word, say yes").WantAnswer("I say yes")
		chat.Send("an odd word, say no").WantWaits(`words {"kind":"message","text":"an odd word, say no","reason":"what is odd?"}`)
		require.Equal(t, agent.WaitsForApproval, chat.WaitsFor())
		chat.Approve("words").WantAnswer("I say no")
		chat.Send("another odd word").Deny("words", "too odd").WantAnswer("I say no")
		chat.Send("say b-ad").WantAnswer("The answer was refused by the guardrail words: mind your words")
		chat.Send("say l-oud").WantAnswer("I say quiet")
		chat.Send("say o-dd").Deny("words", "no").WantAnswer("The answer was refused by a person, whom the guardrail words had asked: no")
		chat.Send("ask me").Answer("the loud one, say so").WantAnswer("I say so")
		require.Equal(t, "the quiet one, say so", chat.Calls()[0].Result)
		chat.Send("ask me").Answer("the bad one").WantAnswer("I say ")
		require.NotContains(t, chat.Text(), "bad")
		for _, r := range agents.Requests("main") {
			for _, m := range r.Messages {
				require.NotContains(t, m.Content, "bad")
				require.NotContains(t, m.Content, "loud")
			}
		}
		chat.Close()
		require.Equal(t, agent.Completed, chat.Status())
	})
}

// A guardrail that fails lets nothing through: a person decides.
func TestGuardrailThatFailsAsksAPerson(t *testing.T) {
	var asked atomic.Int32
	run := reagenttest.New(t, guarded(&asked)).Run("clerk", "a broken word, say yes")
	require.EqualValues(t, 5, asked.Load())
	run.WantWaits(`words {"kind":"message","text":"a broken word, say yes","reason":"the guardrail gave no verdict: the judge is ill"}`)
	run.Approve("").WantAnswer("I say yes")

	run = reagenttest.New(t, guarded(&asked)).Run("clerk", "a bad word")
	require.Equal(t, agent.Failed, run.Status())
	require.Equal(t, "", run.Said())
}

// The result of an agent tells a refused answer from an answer, and the failure of a task has the refusal of its message.
func TestTheResultHasTheRefusal(t *testing.T) {
	var asked atomic.Int32
	ask := func(ctx workflow.Context, message string) (reagent.Result, error) {
		return reagent.Run(ctx, reagent.Task{Agent: "clerk", Message: message})
	}
	agents := reagenttest.New(t, guarded(&asked))
	var result reagent.Result
	require.NoError(t, agents.Execute(ask, "say yes").Result(&result))
	require.Nil(t, result.Refusal)
	require.NoError(t, agents.Execute(ask, "say b-ad").Result(&result))
	require.Equal(t, "mind your words", result.Refusal.Reason)
	require.Equal(t, agent.TextAnswer, result.Refusal.Kind)

	failed, ok := errors.AsType[*temporal.ApplicationError](agents.Execute(ask, "a bad word").Result(nil))
	require.True(t, ok)
	require.Equal(t, agent.MessageRefused, failed.Type())
	var spent agent.Spending
	var refusal agent.RefusedText
	require.NoError(t, failed.Details(&spent, &refusal))
	require.Equal(t, "words", refusal.Guardrail)
}

// A reset recalls the verdicts and what people decided. No guardrail is asked again, and what was refused stays out.
func TestVerdictsAreRecalledAfterAReset(t *testing.T) {
	var asked atomic.Int32
	agents := reagenttest.OnServer(t, guarded(&asked))
	chat := agents.Chat("clerk", "say hello")
	chat.Send("a bad word").Send("an odd word").Deny("", "no").Send("say b-ad").Send("an odd word, say o-dd")
	chat.Approve("").Approve("").WantAnswer("I say odd")
	text, times := chat.Text(), asked.Load()
	for messages := range 3 {
		require.Equal(t, text, chat.Reset(messages).Text())
		require.Equal(t, times, asked.Load(), "a guardrail is asked again")
	}
}

// A worker does not start with a guardrail that it cannot ask.
func TestGuardrailMustExist(t *testing.T) {
	var asked atomic.Int32
	o := guarded(&asked)
	o.Agents[0].Guardrails = reagent.Guardrails{Messages: []string{"wards", "words", "words"}, Answers: []string{"files.read"}}
	_, err := reagent.New(t.Context(), reagenttest.Client(nil), o)
	require.ErrorContains(t, err, `agents.clerk.guardrails.messages[0]: unknown tool "wards": did you mean "words"?`)
	require.ErrorContains(t, err, `agents.clerk.guardrails.messages[2]: "words" is named twice; remove one`)
	require.ErrorContains(t, err, `agents.clerk.guardrails.answers[0]`)
}
