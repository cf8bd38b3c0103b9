package protocol

import (
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/clip"
	"github.com/reagent-dev/reagent/internal/payload"
)

// A batch consists of the calls of one model reply that may run. Their results are in the history of one run, because a
// run does not continue as new while a tool call is open. So the size of all results of a batch together is limited.
// Temporal suggests to continue as new at 4 MB of history, and ends a workflow at 50 MB.
const (
	// batchBytes limits the encoded size of all results of a batch in history. The results exceed it only if the parts
	// that the transcript shows need more.
	batchBytes = 8_000_000
	// maxBatchBytes is the largest encoded size of all results of a batch in history, even if the transcript would show
	// more.
	maxBatchBytes = 24_000_000
	// maxStoredBytes is the largest encoded size of one result. A codec may add a third; Temporal refuses a payload
	// over 2 MiB.
	maxStoredBytes = 1_500_000
)

// Stored returns the part of the result content that history keeps. The part has at most limit bytes. Its encoded size
// is limited, too: all results of a batch share a limit in history, and each result gets an equal share. The parameter
// calls is the number of calls in the batch. The parameter shown is the size, in bytes, to which the transcript cuts
// each result. If a share is too small for the part that the transcript shows, Stored uses a larger share, up to a
// maximum. If limit or shown is 0, it means [DefaultResultBytes].
func Stored(content string, limit, shown, calls int) string {
	calls = max(calls, 1)
	most := min(maxBatchBytes/calls, maxStoredBytes)
	needed := payload.Size(clip.MiddleEncoded(content, ShownBytes(shown), most))
	return clip.MiddleEncoded(content, ShownBytes(limit), min(max(batchBytes/calls, needed), most))
}

// ShownBytes returns the size in bytes to which the transcript cuts each result. It is limit, or [DefaultResultBytes]
// if limit is 0 or less.
func ShownBytes(limit int) int {
	if limit <= 0 {
		return DefaultResultBytes
	}
	return limit
}

// Shown returns the result as the transcript shows it, cut to limit bytes. The parameter key is the key of the call.
// [ToolEvent] returns the same event for the shown result as for the whole result.
func (r ToolResult) Shown(key agent.Key, limit int) ToolResult {
	if !r.Lost {
		r.Content = shown(key, r.Content, limit)
	}
	return r
}
