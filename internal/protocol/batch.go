package protocol

import (
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/clip"
	"github.com/reagent-dev/reagent/internal/payload"
)

// These constants limit the size of tool results in the history. A batch consists of all tool calls of one model reply that
// the agent does not refuse. A run does not continue as new while a tool runs, so all results of a batch are usually in the
// history of one run, and their total size must be limited. Temporal suggests to continue as new at 4 MB of history, and
// ends a workflow at 50 MB. The encoded size of a text is its size in the JSON of a payload.
const (
	// batchBytes is the usual limit of the total encoded size of the results of a batch. Each result gets an equal part of
	// this size. A result may be larger than its part if the transcript shows more than the part.
	batchBytes = 8_000_000
	// maxBatchBytes is the largest total encoded size of the results of a batch. Each result gets an equal part of this size,
	// and is never larger than this part.
	maxBatchBytes = 24_000_000
	// maxStoredBytes is the largest encoded size of one result. A codec may make the result a third larger, and Temporal
	// refuses payloads over 2 MiB.
	maxStoredBytes = 1_500_000
)

// Stored returns the text of a tool result for the history. If the text is too large, its middle is left out. There are two
// limits:
//   - The text has at most `limit` bytes; 0 means [DefaultResultBytes].
//   - The encoded text has at most [batchBytes] divided by `calls`, the number of calls in the same model reply; 0 means 1.
//
// The second limit is higher if the transcript shows more of the text. The transcript shows at most `shown` bytes; 0 means
// [DefaultResultBytes]. But the encoded text never has more than [maxStoredBytes], or more than [maxBatchBytes] divided by
// `calls`.
func Stored(content string, limit, shown, calls int) string {
	calls = max(calls, 1)
	most := min(maxBatchBytes/calls, maxStoredBytes)
	needed := payload.Size(clip.MiddleEncoded(content, ShownBytes(shown), most))
	return clip.MiddleEncoded(content, ShownBytes(limit), min(max(batchBytes/calls, needed), most))
}

// ShownBytes returns the size in bytes to which the transcript cuts each tool result. This is `limit`, the size in the agent's
// definition, or [DefaultResultBytes] if `limit` is 0 or less.
func ShownBytes(limit int) int {
	if limit <= 0 {
		return DefaultResultBytes
	}
	return limit
}

// Shown returns a copy of a tool result whose content is cut to at most `limit` bytes; 0 means [DefaultResultBytes]. This is
// the part that the transcript shows. The given key identifies the tool call. An activity returns the copy instead of the
// whole result, to keep the history small.
func (r ToolResult) Shown(key agent.Key, limit int) ToolResult {
	if !r.Lost() {
		r.Content = shown(key, r.Content, limit)
	}
	return r
}
