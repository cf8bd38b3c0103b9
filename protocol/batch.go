package protocol

import (
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/payload"
	"github.com/reagent-dev/reagent/tool"
)

// A batch is the calls of one model reply. Their results are in the history of one run, because a run does not continue as
// new while the call of a tool is open. So the size of a batch is limited as a whole. Temporal suggests to continue as new
// at 4 MB of history, and ends a workflow at 50 MB.
const (
	// batchBytes is the encoded size that the results of a batch may take in history if the transcript does not need
	// more.
	batchBytes = 8_000_000
	// maxBatchBytes is the encoded size that the results of a batch may take at most.
	maxBatchBytes = 24_000_000
	// maxStoredBytes is the largest encoded size of one result. A codec may add a third; Temporal refuses a payload
	// over 2 MiB.
	maxStoredBytes = 1_500_000
)

// Stored returns the part of a result that history keeps. calls is the number of calls in the batch. Stored cuts
// content to limit bytes and to an equal share of the size of the batch. The share is larger if the transcript needs
// more; the transcript cuts each result to shown bytes. Sizes of 0 mean the default.
func Stored(content string, limit, shown, calls int) string {
	calls = max(calls, 1)
	most := min(maxBatchBytes/calls, maxStoredBytes)
	needed := payload.Size(tool.ClipEncoded(content, ShownBytes(shown), most))
	return tool.ClipEncoded(content, ShownBytes(limit), min(max(batchBytes/calls, needed), most))
}

// ShownBytes returns the size in bytes to which the transcript cuts each result. It is limit, or [DefaultResultBytes]
// if limit is 0 or less.
func ShownBytes(limit int) int {
	if limit <= 0 {
		return DefaultResultBytes
	}
	return limit
}

// Shown returns the result as the transcript shows it, cut to limit bytes. [ToolEvent] returns the same event for the
// shown result as for the whole one.
func (r ToolResult) Shown(key agent.Key, limit int) ToolResult {
	if !r.Lost {
		r.Content = shown(key, r.Content, limit)
	}
	return r
}
