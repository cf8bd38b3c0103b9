package activities

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/protocol"
	"github.com/reagent-dev/reagent/tool"
)

const (
	// toolAttempts bounds how often a tool that may be repeated is: one that takes
	// its worker down would otherwise do so for ever.
	toolAttempts = 5
)

// CallTool runs a tool. It fails only where the tool did not run, or may run
// again; everything else is a result, which this worker remembers for the next request.
func (a *Activities) CallTool(ctx context.Context, in protocol.CallToolInput) (protocol.ToolResult, error) {
	result, err := a.callTool(ctx, in)
	if err != nil {
		return result, err
	}
	id, key := names(ctx)
	if e, ok := protocol.Finished(key, in.Ref, result, nil, in.ResultBytes, 0).(agent.ToolFinished); ok {
		a.cache.putResult(id, agent.SentResult(in.CallID, e.Result.Content))
	}
	return result, nil
}

func (a *Activities) callTool(ctx context.Context, in protocol.CallToolInput) (protocol.ToolResult, error) {
	beat := startHeartbeat(ctx)
	defer beat.stop()
	id, key := names(ctx)

	m, err := a.recall(ctx, in.Effect)
	if err != nil {
		return protocol.ToolResult{}, err
	}
	var earlier protocol.ToolResult
	if ok, err := a.recalled(m, &earlier); ok || err != nil {
		earlier.Recalled = true
		return earlier, err
	}
	repeatable := in.ToolEffect.Repeatable()
	if m.doubt && !repeatable {
		return protocol.ToolResult{Lost: true}, nil
	}
	t, err := a.tools.Lookup(ctx, in.Ref)
	var unknown *tool.UnknownToolError
	switch {
	case errors.As(err, &unknown):
		return protocol.ToolResult{}, missing("tool", in.Ref)
	case err != nil:
		beat.attempt()
		return a.notRun(ctx, in, beat, err)
	}
	attempt := beat.attempt()
	if attempt > toolAttempts {
		return protocol.ToolResult{Lost: true}, nil
	}
	runCtx, cancel := context.WithTimeout(ctx, a.toolTimeout)
	defer cancel()
	runCtx = tool.WithInfo(runCtx, tool.Info{Key: string(key), CallID: in.CallID, AgentID: id})
	result, err := tool.Run(runCtx, t, in.Arguments)
	if err == nil {
		if in.ResultBytes <= 0 {
			in.ResultBytes = protocol.DefaultResultBytes
		}
		return protocol.ToolResult{Content: tool.Clip(result.Content, in.ResultBytes), IsError: result.IsError}, nil
	}
	ended := runCtx.Err() != nil
	switch {
	case !ended && !errors.Is(err, tool.ErrOutcomeUnknown):
		return a.notRun(ctx, in, beat, err)
	case !repeatable:
		a.log.WarnContext(ctx, "the outcome of a tool call is not known", "agent", id, "key", key, "tool", in.Ref, "error", err)
		return protocol.ToolResult{Lost: true}, nil
	case ctx.Err() != nil:
		return protocol.ToolResult{}, interrupted(ctx, err)
	case ended:
		return protocol.ToolResult{Content: "error: the tool took longer than " + a.toolTimeout.String(), IsError: true}, nil
	default:
		return a.notRun(ctx, in, beat, err)
	}
}

// notRun has the call tried again, and gives up with a result after some times.
func (a *Activities) notRun(ctx context.Context, in protocol.CallToolInput, beat *heartbeat, err error) (protocol.ToolResult, error) {
	if ctx.Err() != nil {
		return protocol.ToolResult{}, interrupted(ctx, err)
	}
	attempt := beat.keep()
	if attempt >= toolAttempts {
		return protocol.ToolResult{Content: "error: the tool cannot be reached: " + cut(err.Error(), maxErrorBytes), IsError: true}, nil
	}
	return protocol.ToolResult{}, temporal.NewApplicationErrorWithOptions(cut(err.Error(), maxErrorBytes), protocol.Unavailable,
		temporal.ApplicationErrorOptions{NextRetryDelay: time.Duration(attempt) * time.Second})
}
