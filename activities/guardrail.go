package activities

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/activities/internal/attempt"
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/clip"
	"github.com/reagent-dev/reagent/internal/logs"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/tool"
)

// addGuardrails adds the guardrails to a definition, and reports those that this worker cannot ask.
func (a *Activities) addGuardrails(ctx context.Context, d *agent.Definition, g agent.Guardrails, report func(field string, err error)) {
	d.Guardrails = g
	check := func(field string, kind agent.TextKind, names []string) {
		for i, name := range names {
			t, err := a.tools.Lookup(ctx, name)
			switch {
			case err != nil:
			case slices.Contains(names[:i], name):
				err = fmt.Errorf("%q is named twice; remove one", name)
			case t.Spec().TaskQueue != "":
				err = fmt.Errorf("%q is a tool of a stateful MCP server, which one worker alone can ask; use a server that is not stateful", name)
			case t.Spec().Effect == tool.External:
				err = fmt.Errorf("%q is an external tool, which nobody runs; use a guardrail that returns the action ask", name)
			default:
				if err = tool.CanJudge(t.Spec().Schema, string(kind)); err != nil {
					err = fmt.Errorf("%q cannot be a guardrail: %w", name, err)
				}
			}
			report(fmt.Sprintf("guardrails.%s[%d]", field, i), err)
		}
	}
	check("messages", agent.TextMessage, g.Messages)
	check("answers", agent.TextAnswer, g.Answers)
}

// withoutGuardrails leaves the guardrails of an agent out of its tools, because models do not call them. A pattern such as "files.*" may match
// one; one that is named as a tool is reported.
func withoutGuardrails(bound []tool.Bound, conf Agent, report func(field string, err error)) []tool.Bound {
	guards := slices.Concat(conf.Guardrails.Messages, conf.Guardrails.Answers)
	for i, name := range conf.Tools {
		if slices.Contains(guards, name) {
			report(fmt.Sprintf("tools[%d]", i), fmt.Errorf("%q is a guardrail of this agent, which models do not call; remove it from the tools", name))
		}
	}
	return slices.DeleteFunc(bound, func(b tool.Bound) bool { return slices.Contains(guards, b.Ref) })
}

// CheckText asks a guardrail for its verdict on a text. A guardrail that fails is asked again. If it fails [protocol.MaxToolAttempts] times,
// or if no worker has it, the verdict lets a person decide. CheckText returns an error only if a later attempt may get a verdict.
func (a *Activities) CheckText(ctx context.Context, in protocol.CheckTextInput) (result protocol.CheckedText, err error) {
	ctx = logs.WithTrace(ctx, in.Traceparent)
	beat := a.attempts.Start(ctx, false, &in.Recall)
	defer func() { beat.Stop(err) }()
	beat.Describe("guardrail " + in.Guardrail)
	if !a.attempts.RunsHere(beat.Key()) {
		switch down, err := beat.TookWorkersDown(ctx); {
		case err != nil:
			return result, err
		case down:
			return protocol.CheckedText{Verdict: protocol.Unjudged("several workers stopped while it judged the text")}, nil
		}
	}
	m, err := a.runs.Recall(ctx, in.Recall)
	if err != nil {
		return result, err
	}
	if ok, err := a.runs.Decode(m, &result); ok || err != nil {
		result.Recalled = true
		return result, err
	}
	keep := func(protocol.CheckedText) bool { return true }
	return attempt.Once(a.attempts, beat, keep, func(e *attempt.Operation) (protocol.CheckedText, error) { return a.judge(e, in) })
}

func (a *Activities) judge(e *attempt.Operation, in protocol.CheckTextInput) (protocol.CheckedText, error) {
	ctx, beat := e.Context(), e.Attempt()
	t, err := a.tools.Lookup(ctx, in.Guardrail)
	if errors.As(err, new(*tool.UnknownToolError)) && time.Since(beat.Info().ScheduledTime) < a.rolloutTimeout {
		return protocol.CheckedText{}, missing("guardrail", in.Guardrail)
	}
	if err != nil {
		beat.Try()
		return a.unjudged(ctx, beat, err)
	}
	if err := e.Confirm(); err != nil {
		return protocol.CheckedText{}, err
	}
	if tries := beat.Try(); tries > protocol.MaxToolAttempts {
		return protocol.CheckedText{Verdict: protocol.Unjudged(fmt.Sprintf("%d attempts were lost", tries-1))}, nil
	}
	id, key := names(ctx)
	runCtx, cancel := context.WithTimeout(ctx, a.toolTimeout)
	defer cancel()
	runCtx = tool.WithInfo(runCtx, tool.Info{Key: string(key), AgentID: id, Metadata: in.Metadata.WithoutCaller(), Logger: logs.For(ctx, a.log)})
	runCtx, span := a.telemetry.StartCheck(runCtx, operation(beat, in.Traceparent), in.Guardrail, string(in.Kind))
	v, err := tool.Judge(runCtx, t, tool.JudgedText{Kind: string(in.Kind), Text: in.Text})
	verdict := agent.Verdict{Action: agent.VerdictAction(v.Action), Text: a.redact(v.Text), Reason: clip.UTF8(a.redact(v.Reason), maxErrorBytes)}
	if err == nil {
		err = verdict.Check()
	}
	span.Ended(string(verdict.Action), failure(tool.Result{}, err, runCtx.Err() != nil))
	if err != nil {
		return a.unjudged(ctx, beat, err)
	}
	return protocol.CheckedText{Verdict: verdict}, nil
}

// unjudged ends an attempt without a verdict. After the last attempt, a person decides.
func (a *Activities) unjudged(ctx context.Context, beat *attempt.Attempt, problem error) (protocol.CheckedText, error) {
	text := clip.UTF8(a.redact(problem.Error()), maxErrorBytes)
	switch tries := beat.Tries(); {
	case ctx.Err() != nil:
		return protocol.CheckedText{}, attemptEnded(ctx, text)
	case errors.As(problem, new(*tool.UnknownToolError)), tries >= protocol.MaxToolAttempts:
		return protocol.CheckedText{Verdict: protocol.Unjudged(text)}, nil
	default:
		return protocol.CheckedText{}, temporal.NewApplicationErrorWithOptions(text, protocol.Unavailable,
			temporal.ApplicationErrorOptions{NextRetryDelay: time.Duration(tries) * time.Second})
	}
}
