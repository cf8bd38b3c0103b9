package activities

import (
	"cmp"
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/protocol"
	"github.com/reagent-dev/reagent/tool"
)

const (
	// MaxToolAttempts bounds how often a tool is tried that does not answer.
	MaxToolAttempts = 5
)

// seekDelays are the pauses before an attempt at an at-most-once tool is given out again whose result another worker
// may have: Temporal does not say which. After them the outcome is unknown.
var seekDelays = []time.Duration{250 * time.Millisecond, 500 * time.Millisecond, time.Second, time.Second}

// CallTool runs a tool. It fails only where the tool did not run, or may run
// again; everything else is a result, which this worker remembers for the next request.
func (a *Activities) CallTool(ctx context.Context, in protocol.CallToolInput) (protocol.ToolResult, error) {
	beat := a.startHeartbeat(ctx)
	defer beat.stop()
	beat.describe(in.Ref + " " + in.Arguments)
	result, err := a.callTool(ctx, beat, in)
	if err != nil {
		beat.report(err)
		return result, err
	}
	id, key := names(ctx)
	if e, ok := protocol.ToolEvent(key, in.Ref, result, nil, cmp.Or(in.ShownBytes, in.ResultBytes), 0).(agent.ToolFinished); ok {
		a.cache.putResult(id, agent.SentResult(in.CallID, e.Result.Content))
	}
	return result, nil
}

func (a *Activities) callTool(ctx context.Context, beat *heartbeat, in protocol.CallToolInput) (protocol.ToolResult, error) {
	if !a.runsHere(ctx) {
		if down, err := beat.tookWorkersDown(ctx); down || err != nil {
			return protocol.ToolResult{Lost: down}, err
		}
	}
	m, err := a.recall(ctx, in.Effect)
	if err != nil {
		return protocol.ToolResult{}, err
	}
	var earlier protocol.ToolResult
	if ok, err := a.recalled(m, &earlier); ok || err != nil {
		// The whole of it stays where it is: the run that made it is full already, and this one is not to be.
		if earlier.Recalled = true; in.ShownBytes > 0 {
			_, key := names(ctx)
			earlier = earlier.Shown(key, in.ShownBytes)
		}
		return earlier, err
	}
	keep := func(r protocol.ToolResult) bool { return !r.Lost }
	return once(a, beat, keep, func(e *effect) (protocol.ToolResult, error) { return a.runTool(e, in, m.doubt) })
}

// runTool runs a tool unless it may have run before and must not again. Doubt says that an earlier run of the workflow may
// have run it.
func (a *Activities) runTool(e *effect, in protocol.CallToolInput, doubt bool) (protocol.ToolResult, error) {
	ctx, beat := e.ctx, e.first
	id, key := names(ctx)
	repeatable := in.ToolEffect.Repeatable()
	if !repeatable && (doubt || beat.lost() > 0) {
		return returnAttempt(beat)
	}
	t, err := a.tools.Lookup(ctx, in.Ref)
	var unknown *tool.UnknownToolError
	switch {
	case errors.As(err, &unknown):
		return protocol.ToolResult{}, missing("tool", in.Ref)
	case err != nil:
		beat.attempt()
		return notRun(ctx, beat, a.redact(err.Error()))
	}
	if err := e.confirm(); err != nil {
		return protocol.ToolResult{}, err
	}
	if beat.attempt() > MaxToolAttempts {
		return protocol.ToolResult{Lost: true}, nil
	}
	runCtx, cancel := context.WithTimeout(ctx, a.toolTimeout)
	defer cancel()
	runCtx = tool.WithInfo(runCtx, tool.Info{Key: string(key), CallID: in.CallID, AgentID: id, ResultBytes: protocol.ShownBytes(in.ResultBytes)})
	result, err := tool.Run(runCtx, t, in.Arguments)
	if err == nil {
		return protocol.ToolResult{Content: protocol.Stored(a.redact(result.Content), in.ResultBytes, cmp.Or(in.ShownBytes, in.ResultBytes), in.Batch), IsError: result.IsError}, nil
	}
	ended := runCtx.Err() != nil
	switch {
	case !ended && !errors.Is(err, tool.ErrOutcomeUnknown):
		return notRun(ctx, beat, a.redact(err.Error()))
	case !repeatable:
		a.log.WarnContext(ctx, "the outcome of a tool call is not known", "agent", id, "key", key, "tool", in.Ref, "error", a.redact(err.Error()))
		return protocol.ToolResult{Lost: true}, nil
	case ctx.Err() != nil:
		return protocol.ToolResult{}, interrupted(ctx, a.redact(err.Error()))
	case ended:
		return protocol.ToolResult{Content: "error: the tool took longer than " + a.toolTimeout.String(), IsError: true}, nil
	default:
		return notRun(ctx, beat, a.redact(err.Error()))
	}
}

// returnAttempt gives back an attempt at a tool that may have run, some times, so that the worker that has its result may take it.
// In the end nobody knows.
func returnAttempt(beat *heartbeat) (protocol.ToolResult, error) {
	n := beat.countReturn()
	if n > len(seekDelays) {
		return protocol.ToolResult{Lost: true}, nil
	}
	return protocol.ToolResult{}, temporal.NewApplicationErrorWithOptions("the tool may have run; another worker may have its result",
		protocol.Unavailable, temporal.ApplicationErrorOptions{NextRetryDelay: seekDelays[n-1], Category: temporal.ApplicationErrorCategoryBenign})
}

// notRun has the call tried again, and gives up with a result after some times.
func notRun(ctx context.Context, beat *heartbeat, problem string) (protocol.ToolResult, error) {
	if ctx.Err() != nil {
		return protocol.ToolResult{}, interrupted(ctx, problem)
	}
	attempt := beat.attempts()
	if attempt >= MaxToolAttempts {
		return protocol.ToolResult{Content: "error: the tool cannot be reached: " + cut(problem, maxErrorBytes), IsError: true}, nil
	}
	return protocol.ToolResult{}, temporal.NewApplicationErrorWithOptions(cut(problem, maxErrorBytes), protocol.Unavailable,
		temporal.ApplicationErrorOptions{NextRetryDelay: time.Duration(attempt) * time.Second})
}
