package protocol

import (
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/clip"
	"github.com/reagent-dev/reagent/internal/payload"
)

// These constants limit the size of tool results in the history. A batch is the tool calls of one model reply, without the
// calls that the agent refuses because there are too many. A run does not continue as new while a tool call is open.
// Therefore all results of a batch are in the history of one run, and their size together is limited. Temporal suggests to
// continue as new at 4 MB of history, and ends a workflow at 50 MB. The encoded size of a text is its size in the JSON of a
// payload.
const (
	// batchBytes is the encoded size that the results of a batch may usually have together in the history. Each result gets
	// an equal part of this size. A result may be larger than its part if the transcript shows more than the part.
	batchBytes = 8_000_000
	// maxBatchBytes is the largest encoded size of all results of a batch together in the history. No result may exceed its
	// equal part of this size, even if the transcript would show more.
	maxBatchBytes = 24_000_000
	// maxStoredBytes is the largest encoded size of one result. A codec may make the result a third larger, and Temporal
	// refuses payloads over 2 MiB.
	maxStoredBytes = 1_500_000
)

// Stored returns the part of a tool result that the history keeps. If the result is too large, its middle is left out. There
// are two maximum sizes:
//   - The text has at most `limit` bytes. A `limit` of 0 means [DefaultResultBytes].
//   - The encoded text has at most an equal part of the bytes that all results of the same model reply share. The number of
//     these results is `calls`; 0 means 1.
//
// The transcript shows at most `shown` bytes of each result; 0 means [DefaultResultBytes]. If these bytes exceed the second
// maximum, the second maximum grows so that they fit, up to a bound.
func Stored(content string, limit, shown, calls int) string {
	calls = max(calls, 1)
	most := min(maxBatchBytes/calls, maxStoredBytes)
	needed := payload.Size(clip.MiddleEncoded(content, ShownBytes(shown), most))
	return clip.MiddleEncoded(content, ShownBytes(limit), min(max(batchBytes/calls, needed), most))
}

// ShownBytes returns the size in bytes to which the transcript cuts each tool result. It returns `limit`, which is the size
// in the agent's definition, or [DefaultResultBytes] if `limit` is 0 or less.
func ShownBytes(limit int) int {
	if limit <= 0 {
		return DefaultResultBytes
	}
	return limit
}

// Shown returns a copy of r in which the content is cut to what the transcript shows: at most `limit` bytes, where 0 means
// [DefaultResultBytes]. The given key identifies the tool call that has the result r. An activity returns the copy instead of
// r to keep the history small. The agent gets the same event for both: see [ToolEvent].
func (r ToolResult) Shown(key agent.Key, limit int) ToolResult {
	if !r.Lost {
		r.Content = shown(key, r.Content, limit)
	}
	return r
}
