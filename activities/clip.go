package activities

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/internal/clip"
	"github.com/reagent-dev/reagent/internal/payload"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/repair"
)

const (
	// maxFieldBytes bounds the names of models and tools in a reply, and the reason to finish. Providers' own have some tens
	// of bytes.
	maxFieldBytes = 256
	// maxCallIDBytes bounds the ID of a call. Some gateways put the model's signature into it, which has kilobytes and has to be
	// sent back whole.
	maxCallIDBytes = 16 << 10
	// maxRepairs is the highest number of repairs that a reply lists.
	maxRepairs = 20
	// callsBytes bounds the tool calls of a reply; the rest of [maxReplyBytes] is for all others of its fields.
	callsBytes = maxReplyBytes * 3 / 4
	// longCallBytes is the largest size of a call whose arguments were left out, without its ID.
	longCallBytes = 2048
)

// fit returns the reply with every field cut that is too long, so that the reply fits into a payload: one that does not
// would be paid for and lost. Repaired tells what was left out.
func fit(reply llm.Reply) llm.Reply {
	reply.FinishReason = clipField(reply.FinishReason)
	reply.Model = clipField(reply.Model)
	m := &reply.Message
	if n := len(m.Parts); n > 0 && payload.Size(m.Parts) > maxReplyBytes/2 {
		m.Parts = nil
		reply.Repaired = append(slices.Clip(reply.Repaired), fmt.Sprintf("the reply had %d images or texts that were too large", n))
	}
	m.ToolCalls = slices.Clone(m.ToolCalls)
	for i := range m.ToolCalls {
		c := &m.ToolCalls[i]
		c.ID, c.Name = cut(c.ID, maxCallIDBytes), clipField(c.Name)
	}
	if all, kept := len(m.ToolCalls), fitting(m.ToolCalls); kept < all {
		m.ToolCalls = m.ToolCalls[:kept]
		reply.Repaired = append([]string{fmt.Sprintf("the reply asked for %d tool calls, of which the last %d were left out", all, all-kept)}, reply.Repaired...)
	}
	reply.Repaired = slices.Clone(reply.Repaired)
	if extra := len(reply.Repaired) - maxRepairs; extra > 0 {
		reply.Repaired = append(reply.Repaired[:maxRepairs], fmt.Sprintf("and %d more", extra))
	}
	for i, line := range reply.Repaired {
		reply.Repaired[i] = clipField(line)
	}
	return repair.Fit(reply, maxReplyBytes)
}

// fitting returns how many of the calls fit into [callsBytes] after [repair.Fit] has left out their long arguments.
func fitting(calls []llm.ToolCall) int {
	size := 0
	for i, c := range calls {
		if size += min(payload.Size(c), longCallBytes+payload.Size(c.ID)); size > callsBytes {
			return i
		}
	}
	return len(calls)
}

func clipField(text string) string { return cut(text, maxFieldBytes) }

// cut returns at most limit bytes of text, with a mark where something was left out. The result is valid UTF-8: Temporal
// takes no other text in a failure.
func cut(text string, limit int) string { return strings.ToValidUTF8(clip.Text(text, limit), "\uFFFD") }
