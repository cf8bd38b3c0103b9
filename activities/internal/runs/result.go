package runs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/tool"
)

// Result returns the result of an earlier tool call for the tool `read_result`. The handle identifies the call: it is the
// beginning of the hash in the call's [agent.Key], with at least 8 digits. Result searches the histories of the agent's runs:
// this run first, and then the other runs, newest first.
//
// Several runs may have the result. A run that has recalled the result has only the part that the transcript shows. Result
// returns such a part only if no run has the whole result any more.
func (r *Reader) Result(ctx context.Context, handle string) (string, error) {
	if len(handle) < 8 || strings.Trim(handle, "0123456789abcdef") != "" {
		return "", errors.New("the value of `handle` is not a handle; the note in the shortened result of a tool has one")
	}
	here := activity.GetInfo(ctx).WorkflowExecution
	shown, err := r.resultIn(ctx, here.ID, here.RunID, handle)
	if err != nil {
		return "", err
	}
	if shown != nil && !shown.Recalled {
		return shown.Content, nil
	}
	earlier, err := r.earlier(ctx)
	if err != nil {
		return "", fmt.Errorf("%w: list the earlier runs: %w", tool.ErrNotRun, err)
	}
	for _, run := range earlier {
		found, err := r.resultIn(ctx, here.ID, run, handle)
		if err != nil {
			return "", err
		}
		if found != nil && !found.Recalled {
			return found.Content, nil
		}
		if shown == nil {
			shown = found
		}
	}
	if shown == nil {
		return "", errors.New("there is no such result in the history of this agent")
	}
	return shown.Content, nil // the history with the whole result is deleted
}

// resultIn returns the result of the tool call with the given handle from the history of one run: see
// [Reader.Result]. It returns nil if the run has no such result, or if its history is deleted.
func (r *Reader) resultIn(ctx context.Context, workflowID, runID, handle string) (*protocol.ToolResult, error) {
	x, err := r.index(ctx, workflowID, runID)
	if err != nil {
		return nil, readable(err)
	}
	for _, id := range slices.Sorted(maps.Keys(x.activities)) {
		at := x.activities[id]
		if at.event == 0 || !strings.HasPrefix(id, agent.KindTool+"-"+handle) {
			continue
		}
		payloads, err := r.resultAt(ctx, workflowID, runID, x, at)
		if err != nil {
			return nil, readable(err)
		}
		var result protocol.ToolResult
		if err := r.converter.FromPayloads(payloads, &result); err != nil {
			return nil, err
		}
		return &result, nil
	}
	return nil, nil
}

// readable converts an error that occurred while a history was read. The result wraps the error and [tool.ErrNotRun], with which
// the tool call is retried. If the history is deleted, readable returns nil, and the caller treats its results as missing.
func readable(err error) error {
	if errors.As(err, new(*serviceerror.NotFound)) {
		return nil
	}
	return fmt.Errorf("%w: read the history: %w", tool.ErrNotRun, err)
}
