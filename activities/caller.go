package activities

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/callertoken"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/internal/redact"
	"github.com/reagent-dev/reagent/tool"
)

// caller gives one tool call the tokens of its caller, and hides them in what comes back from the tool. The worker's own redactor does not
// know them: it would have to hide the tokens of all callers in all texts.
type caller struct {
	tokens    *callertoken.Cache // nil if the worker has no source of tokens
	reference string
	hides     *redact.Redactor // nil if there is no source
}

func (a *Activities) callerOf(in protocol.CallToolInput) *caller {
	if a.callers == nil {
		return &caller{}
	}
	return &caller{tokens: a.callers, reference: in.Metadata[agent.CallerReference], hides: redact.New()}
}

// give lets the tool of a call ask for tokens.
func (c *caller) give(info *tool.Info) {
	if c.tokens == nil {
		return
	}
	info.CallerToken = c.token
	info.Logger = slog.New(c.hides.Handler(info.Logger.Handler()))
	if show := info.Progress; show != nil {
		info.Progress = func(text string) { show(c.hides.Text(text)) }
	}
}

func (c *caller) token(ctx context.Context, audience, refused string) (string, error) {
	if c.reference == "" {
		return "", &tool.TokenError{Reason: "the tool acts for a caller, and the newest message of this turn does not say for whom; " +
			"send the message with the metadata " + agent.CallerReference}
	}
	token, err := c.tokens.Token(ctx, c.reference, audience, refused)
	if err == nil {
		c.hides.Add(token)
	}
	return token, err
}

// hidden returns what a tool returned, without the tokens.
func (c *caller) hidden(r tool.Result, err error) (tool.Result, error) {
	r.Content = c.hides.Text(r.Content)
	if q := r.Question; q != nil {
		hidden := tool.Question{Text: c.hides.Text(q.Text), State: c.hides.Text(q.State)}
		for _, choice := range q.Choices {
			hidden.Choices = append(hidden.Choices, c.hides.Text(choice))
		}
		r.Question = &hidden
	}
	return r, c.hides.Error(err)
}

// signIn is the state of the question to sign in again, which a worker asks in the name of a tool. Answer is the answer that the tool had for
// its own last question.
type signIn struct {
	SignIn bool         `json:"reagent_sign_in"`
	Answer *tool.Answer `json:"answer,omitempty"`
}

// answered returns the person's answer for the tool. The result `refused` is not nil if the person did not sign in.
func answered(e *agent.Elicitation) (answer *tool.Answer, refused *protocol.ToolResult) {
	answer = answerOf(e)
	var s signIn
	if answer == nil || json.Unmarshal([]byte(answer.State), &s) != nil || !s.SignIn {
		return answer, nil
	}
	if answer.Declined {
		return nil, &protocol.ToolResult{Content: "not run: the tool acts for a caller whose sign-in has expired, and nobody signed in again", Kind: agent.Errored}
	}
	return s.Answer, nil
}

// withoutToken ends a call whose tool got no token. If the caller can cure it, the call waits for a person.
func (a *Activities) withoutToken(problem *tool.TokenError, answer *tool.Answer) protocol.ToolResult {
	if !problem.Expired {
		return protocol.ToolResult{Content: "not run: no token of the caller: " + a.redact(problem.Reason), Kind: agent.Errored}
	}
	text := "The tool acts for a caller whose sign-in does not hold any more (" + problem.Reason + "). Sign in again"
	if problem.SignIn != "" {
		text += " at " + problem.SignIn
	}
	state, err := json.Marshal(signIn{SignIn: true, Answer: answer})
	if err != nil {
		return protocol.ToolResult{Content: "not run: no token of the caller: " + a.redact(problem.Reason), Kind: agent.Errored}
	}
	return a.elicitation(tool.Question{Text: text + ", and answer done. Then the call runs.", Choices: []string{"done"}, State: string(state)})
}
