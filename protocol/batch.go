package protocol

import (
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/payload"
	"github.com/reagent-dev/reagent/tool"
)

// The results of all calls of one reply of the model are in one run of the agent: a run is continued in a new one only
// between two batches. So a batch is bounded as a whole. Temporal suggests a new run at 4 MB and ends a workflow at
// 50 MB.
const (
	// batchBytes is the size, encoded, that the results of a batch take in history if the transcript does not need more.
	batchBytes = 8_000_000
	// maxBatchBytes is the size that they take at most.
	maxBatchBytes = 24_000_000
	// maxStoredBytes is the size limit of one result, encoded. A codec may add a third; Temporal refuses a payload over 2 MiB.
	maxStoredBytes = 1_500_000
)

// Stored returns what history keeps of the result of one of so many calls of a batch: the text, cut to limit bytes and to
// an equal share of what the batch may take. The share grows where the transcript, which cuts results to the shown
// size, needs more. Sizes of 0 mean the default.
func Stored(content string, limit, shown, calls int) string {
	calls = max(calls, 1)
	most := min(maxBatchBytes/calls, maxStoredBytes)
	needed := payload.Size(tool.ClipEncoded(content, ShownBytes(shown), most))
	return tool.ClipEncoded(content, ShownBytes(limit), min(max(batchBytes/calls, needed), most))
}

// ShownBytes returns the size to which the transcript cuts each result where the limit is the given one; 0 means the default.
func ShownBytes(limit int) int {
	if limit <= 0 {
		return DefaultResultBytes
	}
	return limit
}

// Shown returns the result as the transcript shows it: [ToolEvent] makes the same of it as of the whole.
func (r ToolResult) Shown(key agent.Key, limit int) ToolResult {
	if !r.Lost {
		r.Content = shown(key, r.Content, limit)
	}
	return r
}
