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

// Stored returns the part of a tool result that history keeps. The parameter content is the whole result. The parameter
// limit is the largest size of the part in bytes. The encoded size of the part is limited, too: all results of a batch
// share a limit in history, and each result gets an equal share. The parameter calls is the number of calls in the
// batch. The parameter shown is the size, in bytes, to which the transcript cuts each result. If a share is too small
// for the bytes that the transcript shows, Stored uses a larger share, up to a maximum. A value of 0 for the parameter
// limit or the parameter shown means [DefaultResultBytes].
func Stored(content string, limit, shown, calls int) string {
	calls = max(calls, 1)
	most := min(maxBatchBytes/calls, maxStoredBytes)
	needed := payload.Size(clip.MiddleEncoded(content, ShownBytes(shown), most))
	return clip.MiddleEncoded(content, ShownBytes(limit), min(max(batchBytes/calls, needed), most))
}

// ShownBytes returns the size in bytes to which the transcript cuts each result. The parameter limit is the size that
// the agent's definition sets. ShownBytes returns it unchanged if it is greater than 0; otherwise it returns
// [DefaultResultBytes].
func ShownBytes(limit int) int {
	if limit <= 0 {
		return DefaultResultBytes
	}
	return limit
}

// Shown returns a copy of the result r in which the content is cut to the size that the transcript shows. The parameter
// limit is this size in bytes. The parameter key is the key of the call. [ToolEvent] returns the same event for the copy
// as for r.
func (r ToolResult) Shown(key agent.Key, limit int) ToolResult {
	if !r.Lost {
		r.Content = shown(key, r.Content, limit)
	}
	return r
}
