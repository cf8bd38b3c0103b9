package protocol

import (
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/clip"
	"github.com/reagent-dev/reagent/internal/payload"
)

// These constants limit the size of tool results in the history. A batch consists of the calls of one model reply,
// without the calls that the agent refuses because there are too many. The results of a batch are all in the history
// of one run, because a run does not continue as new while a tool call is open. So their size together is limited.
// Temporal suggests to continue as new at 4 MB of history, and ends a workflow at 50 MB.
const (
	// batchBytes is the encoded size that all results of a batch may have together in history. Each result gets an
	// equal share. A result may be larger than its share if the transcript shows more of it.
	batchBytes = 8_000_000
	// maxBatchBytes is the largest encoded size of all results of a batch in history. It holds even if the transcript
	// would show more.
	maxBatchBytes = 24_000_000
	// maxStoredBytes is the largest encoded size of one result. A codec may make it a third larger, and Temporal
	// refuses a payload over 2 MiB.
	maxStoredBytes = 1_500_000
)

// Stored cuts a tool result to the part that history keeps, and returns this part. Two sizes in bytes are given: the largest size
// of this part (limit), and the size to which the transcript cuts each result (shown). A size of 0 means [DefaultResultBytes].
//
// The encoded size of the part is limited, too. A batch, which consists of the calls of one model reply, has one limit for all
// its results. Each result gets an equal share of this limit, by the number of calls in the batch (calls). If the transcript
// shows more than fits into a share, the share grows, up to a maximum.
func Stored(content string, limit, shown, calls int) string {
	calls = max(calls, 1)
	most := min(maxBatchBytes/calls, maxStoredBytes)
	needed := payload.Size(clip.MiddleEncoded(content, ShownBytes(shown), most))
	return clip.MiddleEncoded(content, ShownBytes(limit), min(max(batchBytes/calls, needed), most))
}

// ShownBytes returns the size in bytes to which the transcript cuts each tool result. This is the size that the agent's
// definition sets (limit), or [DefaultResultBytes] if that size is 0 or less.
func ShownBytes(limit int) int {
	if limit <= 0 {
		return DefaultResultBytes
	}
	return limit
}

// Shown returns a copy of r, the result of the call with the given key, in which the content is cut to the part that the
// transcript shows. This part has at most the given number of bytes (limit); 0 means [DefaultResultBytes]. An activity returns
// the copy to keep the history small. For the agent, the copy is the same as r: [ToolEvent] returns the same event for both.
func (r ToolResult) Shown(key agent.Key, limit int) ToolResult {
	if !r.Lost {
		r.Content = shown(key, r.Content, limit)
	}
	return r
}
