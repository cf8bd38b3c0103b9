package activities

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/tool"
)

// readBytes is the number of bytes that the tool `read_result` returns if the model does not say how many bytes to read.
const readBytes = 16 << 10

// headBytes is the number of bytes that the tool `read_result` reserves for the first line of its result. This line says
// which bytes follow.
const headBytes = 100

// readArguments are the arguments of the tool `read_result`: see [Activities.resultReader].
type readArguments struct {
	Handle string `json:"handle" jsonschema:"the handle in the note of what was left out"`
	Offset int    `json:"offset,omitempty" jsonschema:"the byte from which on to read; 0 is the first"`
	Length int    `json:"length,omitempty" jsonschema:"how many bytes to read, 16384 if left out"`
}

// resultReader returns the tool `read_result`. The transcript contains only the beginning and the end of a long tool result.
// With this tool, the model can read the part between them. The tool takes this part from the agent's history, which stores
// more of a result than the transcript contains.
func (a *Activities) resultReader() (tool.Tool, error) {
	return tool.Func(agent.ReadResult, "Reads on in the result of an earlier tool call of which a part was left out.", tool.ReadOnly,
		func(ctx context.Context, in readArguments) (string, error) {
			whole, err := a.findResult(ctx, strings.TrimSpace(in.Handle))
			if err != nil {
				return "", err
			}
			if in.Length <= 0 {
				in.Length = readBytes
			}
			// The transcript would cut a longer result again.
			if limit := tool.InfoFrom(ctx).ResultBytes; limit > 0 {
				in.Length = min(in.Length, max(limit-headBytes, 1))
			}
			from := min(max(in.Offset, 0), len(whole))
			for from > 0 && from < len(whole) && !utf8.RuneStart(whole[from]) {
				from--
			}
			to := min(from+in.Length, len(whole))
			for to > from && to < len(whole) && !utf8.RuneStart(whole[to]) {
				to--
			}
			return fmt.Sprintf("bytes %d to %d of %d:\n%s", from, to, len(whole), whole[from:to]), nil
		})
}

// findResult returns the result of an earlier tool call. The tool `read_result` uses it. The handle identifies the call: it
// is the beginning of the hash in the call's [agent.Key]. findResult searches the histories of the agent's runs: this run
// first, and then the other runs, newest first.
//
// Several runs may have the result. If a run took the result from an earlier run, its history has only the part that the
// transcript shows. Therefore findResult returns such a partial result only if no run has the whole result any more.
func (a *Activities) findResult(ctx context.Context, handle string) (string, error) {
	if len(handle) < 8 || strings.Trim(handle, "0123456789abcdef") != "" {
		return "", errors.New("the value of `handle` is not a handle; the note in the shortened result of a tool has one")
	}
	here := activity.GetInfo(ctx).WorkflowExecution
	shown, err := a.resultIn(ctx, here.ID, here.RunID, handle)
	if err != nil || shown != nil && !shown.Recalled {
		return content(shown), err
	}
	earlier, err := a.earlier(ctx)
	if err != nil {
		return "", fmt.Errorf("%w: list the earlier runs: %w", tool.ErrNotRun, err)
	}
	for _, run := range earlier {
		found, err := a.resultIn(ctx, here.ID, run, handle)
		if err != nil || found != nil && !found.Recalled {
			return content(found), err
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

// content returns the content of a tool result. It returns "" if the pointer is nil.
func content(r *protocol.ToolResult) string {
	if r == nil {
		return ""
	}
	return r.Content
}

// resultIn returns the result of the tool call with the given handle from the history of one run: see
// [Activities.findResult]. It returns nil if the run has no such result, or if its history is deleted.
func (a *Activities) resultIn(ctx context.Context, workflowID, runID, handle string) (*protocol.ToolResult, error) {
	x, err := a.index(ctx, workflowID, runID)
	if err != nil {
		return nil, readable(err)
	}
	for _, id := range slices.Sorted(maps.Keys(x.activities)) {
		at := x.activities[id]
		if at.event == 0 || !strings.HasPrefix(id, agent.KindTool+"-"+handle) {
			continue
		}
		payloads, err := a.resultAt(ctx, workflowID, runID, x, at)
		if err != nil {
			return nil, readable(err)
		}
		var result protocol.ToolResult
		if err := a.converter.FromPayloads(payloads, &result); err != nil {
			return nil, err
		}
		return &result, nil
	}
	return nil, nil
}

// readable converts an error that occurred while a history was read. If the history is deleted, readable returns nil. The
// caller then treats the results in this history as missing. Otherwise readable returns an error that wraps the given error
// and [tool.ErrNotRun]. With such an error, the tool call is retried.
func readable(err error) error {
	if errors.As(err, new(*serviceerror.NotFound)) {
		return nil
	}
	return fmt.Errorf("%w: read the history: %w", tool.ErrNotRun, err)
}
