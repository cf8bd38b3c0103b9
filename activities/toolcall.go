package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/activities/internal/attempt"
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/clip"
	"github.com/reagent-dev/reagent/internal/logs"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/tool"
)

// seekDelays are the retry delays of a tool call that must not run twice (see [tool.AtMostOnce]) and may already have run on
// another worker. That worker may have stored the result, and a retry may reach that worker. If no retry finds the result, the
// outcome of the call counts as unknown.
var seekDelays = []time.Duration{250 * time.Millisecond, 500 * time.Millisecond, time.Second, time.Second}

// CallTool runs a tool and returns its result. A failure of the tool is a result, too. CallTool returns an error in three cases: a later
// attempt may run the tool or get its result, the call was cancelled, or the time limit of the turn was over before the call began. The
// result is also cached on this worker, because the agent's next model call needs it. A question to a person is not cached.
func (a *Activities) CallTool(ctx context.Context, in protocol.CallToolInput) (result protocol.ToolResult, err error) {
	ctx = logs.WithTrace(ctx, in.Traceparent)
	beat := a.attempts.Start(ctx, in.PartialText, &in.Recall)
	defer func() { beat.Stop(err) }()
	beat.Describe(in.Ref + " " + in.Arguments)
	if err = beat.TooLate(); err != nil {
		return result, err
	}
	result, err = a.callTool(ctx, beat, in)
	if err != nil || result.Elicitation != nil {
		return result, err
	}
	id, key := names(ctx)
	if e, ok := protocol.ToolEvent(key, in.Ref, result, nil, cmp.Or(in.ShownBytes, in.ResultBytes), 0).(agent.ToolFinished); ok {
		a.cache.putResult(id, agent.SentResult(in.CallID, e.Result.Content))
	}
	return result, nil
}

func (a *Activities) callTool(ctx context.Context, beat *attempt.Attempt, in protocol.CallToolInput) (protocol.ToolResult, error) {
	if !a.attempts.RunsHere(beat.Key()) {
		switch down, err := beat.TookWorkersDown(ctx); {
		case err != nil:
			return protocol.ToolResult{}, err
		case down:
			return protocol.LostTool(), nil
		}
	}
	m, err := a.runs.Recall(ctx, in.Recall)
	if err != nil {
		return protocol.ToolResult{}, err
	}
	if m.Cancelled || m.Doubt && m.Result == nil {
		// What the model was told holds, also if the tool has ended since.
		if told, err := a.runs.Told(ctx, in.Recall); told != nil || err != nil {
			return protocol.ToolResult{Told: told, Recalled: true}, err
		}
	}
	var earlier protocol.ToolResult
	if ok, err := a.runs.Decode(m, &earlier); ok || err != nil {
		// The recalled result is stored as the transcript shows it, to keep the history of this run small. The whole result stays
		// in the history of the earlier run: see [runs.Reader.Result].
		_, key := names(ctx)
		earlier.Recalled = true
		if err == nil {
			a.telemetry.RecalledToolCall(ctx, operation(beat, in.Traceparent), in.Ref, in.CallID)
		}
		return earlier.Shown(key, cmp.Or(in.ShownBytes, in.ResultBytes)), err
	}
	keep := func(r protocol.ToolResult) bool { return !r.Lost() }
	return attempt.Once(a.attempts, beat, keep, func(e *attempt.Operation) (protocol.ToolResult, error) { return a.runTool(e, in, m.Doubt) })
}

// runTool runs the tool and returns its result. If the tool must not run twice (see [tool.AtMostOnce]) and may have run before, runTool
// ends the attempt instead: see [returnAttempt]. The tool may have run before if an earlier attempt was lost, or if `doubt` is true: an
// earlier run of the agent may have run it. If this worker does not have the tool, see [Activities.noTool].
func (a *Activities) runTool(e *attempt.Operation, in protocol.CallToolInput, doubt bool) (protocol.ToolResult, error) {
	ctx, beat := e.Context(), e.Attempt()
	id, key := names(ctx)
	repeatable := tool.Effect(in.ToolEffect).Repeatable()
	if !repeatable && (doubt || beat.Lost() > 0) {
		return returnAttempt(beat)
	}
	t, err := a.lookup(ctx, in)
	switch {
	case errors.As(err, new(*tool.UnknownToolError)):
		return a.noTool(beat, in.Ref, doubt)
	case err != nil:
		beat.Try()
		return notRun(ctx, beat, a.redact(err.Error()))
	}
	if err := e.Confirm(); err != nil {
		return protocol.ToolResult{}, err
	}
	if beat.Try() > protocol.MaxToolAttempts {
		return protocol.LostTool(), nil
	}
	runCtx, cancel := context.WithTimeout(ctx, a.toolTimeout)
	defer cancel()
	answer, refused := answered(in.Elicitation)
	if refused != nil {
		return *refused, nil
	}
	info := tool.Info{
		Key: string(key), CallID: in.CallID, AgentID: id, Metadata: in.Metadata.WithoutCaller(), Answer: answer,
		ResultBytes: protocol.ShownBytes(in.ResultBytes), Logger: logs.For(ctx, a.log),
	}
	if beat.Tells() {
		info.Progress = beat.AddText
	}
	if in.To != "" {
		info.Metadata = in.Metadata // the sub-agent acts for the same caller
	}
	caller := a.callerOf(in)
	caller.give(&info)
	runCtx, span := a.telemetry.StartToolCall(tool.WithInfo(runCtx, info), operation(beat, in.Traceparent), in.Ref, in.CallID, a.redact(in.Arguments))
	result, err := caller.hidden(tool.Run(runCtx, t, in.Arguments))
	span.Ended(a.redact(result.Content), failure(result, err, runCtx.Err() != nil))
	if err == nil && result.Question != nil {
		return a.elicitation(*result.Question), nil
	}
	if err == nil {
		return protocol.ToolResult{Content: protocol.Stored(a.redact(result.Content), in.ResultBytes, cmp.Or(in.ShownBytes, in.ResultBytes), in.Batch), Kind: agent.KindOf(result.IsError)}, nil
	}
	ended := runCtx.Err() != nil
	var noToken *tool.TokenError
	switch {
	case errors.As(err, &noToken) && !errors.Is(err, tool.ErrOutcomeUnknown):
		return a.withoutToken(noToken, answer), nil
	case !repeatable && (ended || errors.Is(err, tool.ErrOutcomeUnknown)):
		a.log.WarnContext(ctx, "the outcome of a tool call is unknown", "tool", in.Ref, "error", logs.Redacted(err, a.redact))
		if ctx.Err() != nil {
			return protocol.LostTool(), nil // the worker stops
		}
		return protocol.ToolResult{Content: agent.TextOutcomeUnknown(a.lostWhy(err, ended)), Kind: agent.OutcomeUnknown}, nil
	case ended && ctx.Err() == nil:
		return protocol.ToolResult{Content: "error: the tool took longer than " + a.toolTimeout.String(), Kind: agent.Errored}, nil
	}
	return notRun(ctx, beat, a.redact(err.Error()))
}

// lostWhy tells the model why the outcome of a call is unknown. `err` is the error of the tool. `late` says that the tool took longer
// than a call may take.
func (a *Activities) lostWhy(err error, late bool) string {
	if late {
		return "the tool took longer than " + a.toolTimeout.String()
	}
	// The text of [tool.ErrOutcomeUnknown] would be there twice.
	text := a.redact(err.Error())
	text = strings.ReplaceAll(text, tool.ErrOutcomeUnknown.Error()+": ", "")
	return clip.UTF8(strings.TrimSuffix(text, ": "+tool.ErrOutcomeUnknown.Error()), maxErrorBytes)
}

// noTool ends an attempt at a tool call on a worker that does not have the tool. Another worker may have it, so the error is
// retryable until `Options.RolloutTimeout` has passed since the call was scheduled. After that, the result tells the model that
// the tool was not run. If an earlier attempt or run may have run the tool, the error stays retryable.
func (a *Activities) noTool(beat *attempt.Attempt, ref string, doubt bool) (protocol.ToolResult, error) {
	if doubt || beat.Lost() > 0 || beat.Tries() > 0 || time.Since(beat.Info().ScheduledTime) < a.rolloutTimeout {
		return protocol.ToolResult{}, missing("tool", ref)
	}
	return protocol.ToolResult{Content: fmt.Sprintf("not run: no worker has the tool %q", ref), Kind: agent.Errored}, nil
}

// lookup returns the tool of a call. A call with the field `To` sends a message, and its tool is not in the registry.
func (a *Activities) lookup(ctx context.Context, in protocol.CallToolInput) (tool.Tool, error) {
	if in.To != "" {
		return messenger{client.New(a.temporal, "").WithConverter(a.converter), in.To}, nil
	}
	return a.tools.Lookup(ctx, in.Ref)
}

// returnAttempt ends an attempt without running the tool, because the tool may have run already and must not run twice. The
// error is retryable, because a later attempt may reach the worker that has stored the result. There is one retry for each of
// the [seekDelays]. After the last retry, the result says that the outcome of the call is unknown.
func returnAttempt(beat *attempt.Attempt) (protocol.ToolResult, error) {
	n := beat.CountReturn()
	if n > len(seekDelays) {
		return protocol.LostTool(), nil
	}
	return protocol.ToolResult{}, temporal.NewApplicationErrorWithOptions("the tool may have run, and another worker may have the result; the next attempt looks for the result again",
		protocol.Unavailable, temporal.ApplicationErrorOptions{NextRetryDelay: seekDelays[n-1], Category: temporal.ApplicationErrorCategoryBenign})
}

// notRun ends an attempt at a tool call if the tool did not run, or if it failed and may run again. The error is retryable
// and contains the given text, which says what happened. After [protocol.MaxToolAttempts] attempts, notRun returns an error
// result for the model instead. If the context has ended, notRun returns the error of [attemptEnded].
func notRun(ctx context.Context, beat *attempt.Attempt, problem string) (protocol.ToolResult, error) {
	if ctx.Err() != nil {
		return protocol.ToolResult{}, attemptEnded(ctx, problem)
	}
	tries := beat.Tries()
	if tries >= protocol.MaxToolAttempts {
		return protocol.ToolResult{Content: "error: the tool cannot be reached: " + clip.UTF8(problem, maxErrorBytes), Kind: agent.Errored}, nil
	}
	return protocol.ToolResult{}, temporal.NewApplicationErrorWithOptions(clip.UTF8(problem, maxErrorBytes), protocol.Unavailable,
		temporal.ApplicationErrorOptions{NextRetryDelay: time.Duration(tries) * time.Second})
}
