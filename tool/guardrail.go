package tool

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/reagent-dev/reagent/internal/exact"
	"github.com/reagent-dev/reagent/internal/jsonwords"
)

// JudgedText is what a guardrail judges.
type JudgedText struct {
	// Kind is "message" for a message to the agent and for a person's answer to a question, and "answer" for an answer of the model.
	Kind string `json:"kind" jsonschema:"message: what a person or a program tells the agent; answer: what the agent answers"`
	// Text is the text.
	Text string `json:"text" jsonschema:"the text to judge"`
}

// Verdict is what a guardrail says about a text. Make it with [Allow], [Change], [Refuse] or [Ask].
type Verdict struct {
	// Action is "allow", "change", "refuse" or "ask".
	Action string `json:"action"`
	// Text takes the place of the text. It is for the action "change" only.
	Text string `json:"text,omitempty"`
	// Reason says why the text is refused, or why a person is asked.
	Reason string `json:"reason,omitempty"`
}

// Allow lets the text through.
func Allow() Verdict { return Verdict{Action: "allow"} }

// Change lets another text through in its place.
func Change(text string) Verdict { return Verdict{Action: "change", Text: text} }

// Refuse lets nothing through. Whoever has sent the text, or waits for it, gets the reason.
func Refuse(reason string) Verdict { return Verdict{Action: "refuse", Reason: reason} }

// Ask lets a person decide, who sees the text and the reason.
func Ask(reason string) Verdict { return Verdict{Action: "ask", Reason: reason} }

// Guardrail makes a tool from a function that judges texts. Add it to the tools of the worker, and name it in the guardrails of an agent.
// Models do not see it unless the agent also has it among its tools.
//
// The function is called with one text at a time. After a crash, it may be called again with the same text, so it must change nothing. If
// it returns an error or panics, it is called again, up to five times, and then a person decides. It must be safe for concurrent use.
// Guardrail returns an error if the function is nil, or if the name is not valid: see [NameError].
func Guardrail(name, description string, judge func(context.Context, JudgedText) (Verdict, error)) (Tool, error) {
	if judge == nil {
		return nil, fmt.Errorf("guardrail %q: the function is nil; pass the function that judges texts", name)
	}
	described, err := Func(name, description, ReadOnly, func(context.Context, JudgedText) (Verdict, error) { return Verdict{}, nil })
	if err != nil {
		return nil, err
	}
	return New(described.Spec(), func(ctx context.Context, args json.RawMessage) (Result, error) {
		var text JudgedText
		if err := exact.Decode(args, &text, 0); err != nil {
			return errorResult("arguments of %s cannot be read: %s; correct them and call again", name, jsonwords.Problem(err)), nil
		}
		v, err := judge(ctx, text)
		if err != nil {
			return Result{}, err
		}
		return encode(name, v), nil
	})
}

// MustGuardrail is like [Guardrail], but panics instead of returning an error.
func MustGuardrail(name, description string, judge func(context.Context, JudgedText) (Verdict, error)) Tool {
	t, err := Guardrail(name, description, judge)
	if err != nil {
		panic(err)
	}
	return t
}

// Judge asks a guardrail for its verdict on a text. The guardrail is a tool of [Guardrail], or any other tool with the arguments of a
// [JudgedText] whose result is a [Verdict] in JSON. The error says why there is no verdict: the tool failed, asks a person itself, or has
// another result.
func Judge(ctx context.Context, t Tool, text JudgedText) (Verdict, error) {
	args, err := json.Marshal(text)
	if err != nil {
		return Verdict{}, err
	}
	result, err := Run(ctx, t, string(args))
	switch {
	case err != nil:
		return Verdict{}, err
	case result.IsError:
		return Verdict{}, fmt.Errorf("it failed: %s", result.Content)
	case result.Question != nil:
		return Verdict{}, fmt.Errorf("it asks a person itself: return the action ask instead")
	}
	var v Verdict
	if err := exact.Decode([]byte(result.Content), &v, exact.Open); err != nil {
		return Verdict{}, fmt.Errorf("its result is not a verdict such as {\"action\":\"allow\"}: %s", jsonwords.Problem(err))
	}
	return v, nil
}
