package activities

import (
	"fmt"
	"slices"

	"github.com/reagent-dev/reagent/internal/clip"
	"github.com/reagent-dev/reagent/internal/payload"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/repair"
)

const (
	// maxFieldBytes limits each of these texts in a reply: the model's name, the finish reason, the tools' names and each
	// line of the field `Repaired`. The texts of providers have less than a hundred bytes.
	maxFieldBytes = 256
	// maxCallIDBytes limits the ID of a tool call. It is large because some gateways put the model's signature into the ID. A
	// signature has some kilobytes, and later requests have to send it back unchanged.
	maxCallIDBytes = 16 << 10
	// maxRepairs is the maximum number of repairs that [fit] lists. The rest become the line "and N more".
	maxRepairs = 20
	// callsBytes limits the size of all tool calls of a reply together. The rest of [maxReplyBytes] is for the other fields of
	// the reply.
	callsBytes = maxReplyBytes * 3 / 4
	// longCallBytes is the maximum size of a tool call, without its ID, after [repair.Fit] has removed its arguments.
	longCallBytes = 2048
)

// fit shortens a model's reply to a size that Temporal accepts in a payload. Temporal would reject a larger reply, which was
// paid for.
//   - Long fields are cut.
//   - If the content parts of the message are too large together, all of them are removed.
//   - If the tool calls are too large together, the last ones are removed.
//   - If the reply is still too large, [repair.Fit] shortens it.
//
// The field `Repaired` of the result says what was removed.
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
		c.ID, c.Name = clip.UTF8(c.ID, maxCallIDBytes), clipField(c.Name)
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

// fitting returns how many of the given tool calls, counted from the first, fit into [callsBytes] bytes together.
// [repair.Fit] can later remove the arguments of a large call. Therefore a large call counts only [longCallBytes] plus the
// size of its ID.
func fitting(calls []llm.ToolCall) int {
	size := 0
	for i, c := range calls {
		if size += min(payload.Size(c), longCallBytes+payload.Size(c.ID)); size > callsBytes {
			return i
		}
	}
	return len(calls)
}

func clipField(text string) string { return clip.UTF8(text, maxFieldBytes) }
