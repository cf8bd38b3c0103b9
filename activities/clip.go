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
	// maxFieldBytes limits the model's name, the finish reason, the tools' names and each line of Repaired in a reply. The values
	// of providers have less than a hundred bytes.
	maxFieldBytes = 256
	// maxCallIDBytes limits the ID of a tool call. Some gateways put the model's signature into the ID. The signature has some
	// kilobytes, and later requests have to send it back unchanged.
	maxCallIDBytes = 16 << 10
	// maxRepairs is the maximum number of repairs that fit lists one by one. It lists the others as "and N more".
	maxRepairs = 20
	// callsBytes limits the tool calls of a reply. The rest of [maxReplyBytes] is for the other fields of the reply.
	callsBytes = maxReplyBytes * 3 / 4
	// longCallBytes is the maximum size of a tool call, without its ID, after [repair.Fit] has removed its arguments.
	longCallBytes = 2048
)

// fit returns a reply that fits into a payload: it cuts long fields, and leaves out large parts and the last tool calls. A reply
// that does not fit into a payload is paid for and lost. Repaired lists the parts and the tool calls that were left out.
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

// fitting returns how many of the calls fit into [callsBytes] after [repair.Fit] has removed their long arguments.
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

// cut returns text if it has at most limit bytes. Otherwise it returns the beginning of text and an ellipsis, together at most
// limit bytes. Then it replaces bytes that are not UTF-8 by U+FFFD, which may make the text longer: Temporal rejects a failure
// with a text that is not UTF-8.
func cut(text string, limit int) string { return strings.ToValidUTF8(clip.Text(text, limit), "\uFFFD") }
