package activities

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/tool"
)

// The question to sign in again keeps the answer that the tool had got before. If the person declines, the tool does not run.
func TestQuestionToSignInKeepsTheAnswerOfTheTool(t *testing.T) {
	a := &Activities{redact: func(text string) string { return text }}
	earlier := &tool.Answer{State: "the tool's", Text: "blue"}
	asked := a.withoutToken(&tool.TokenError{Expired: true, Reason: "the session is over", SignIn: "https://login.example.com"}, earlier)
	require.Contains(t, asked.Elicitation.Question, "(the session is over). Sign in again at https://login.example.com, and answer done.")

	e := *asked.Elicitation
	e.Answer = &agent.GivenResult{Content: "done"}
	answer, refused := answered(&e)
	require.Nil(t, refused)
	require.Equal(t, earlier, answer)

	e.Answer = &agent.GivenResult{Content: "no", IsError: true}
	_, refused = answered(&e)
	require.Contains(t, refused.Content, "not run: ")

	own, refused := answered(&agent.Elicitation{State: "the tool's", Answer: &agent.GivenResult{Content: "red"}})
	require.Nil(t, refused)
	require.Equal(t, &tool.Answer{State: "the tool's", Text: "red"}, own)

	final := a.withoutToken(&tool.TokenError{Reason: "access_denied"}, nil)
	require.Nil(t, final.Elicitation)
	require.Equal(t, "not run: no token of the caller: access_denied", final.Content)
}
