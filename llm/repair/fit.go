package repair

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/internal/clip"
	"github.com/reagent-dev/reagent/llm"
)

// Fit shortens a reply if its JSON form is longer than the parameter limit, in bytes. Otherwise it returns the reply
// unchanged. It adds a text to Repaired for each change, unless Repaired already has 20 texts. If the reply is too long and
// has reasoning, one of these texts gives the length of the reasoning, even if Fit did not have to cut the reasoning.
//
// Fit cuts the text and the reasoning and adds a note where it has cut. It never cuts arguments. Instead, it replaces
// arguments of more than 1024 bytes, the longest first, by a text that is not a JSON object, so the call is not run. It does
// not shorten other fields such as IDs. If these fields and the short arguments alone need more than limit bytes, the copy
// is longer than limit. So limit must be at least a few kilobytes. Fit does not modify its argument.
func Fit(reply llm.Reply, limit int) llm.Reply {
	did := &log{lines: slices.Clone(reply.Repaired)}
	size := func() int {
		reply.Repaired = did.lines
		encoded, _ := json.Marshal(reply) // cannot fail: the reply has only strings and numbers
		return len(encoded)
	}
	if size() <= limit {
		return reply
	}
	m := &reply.Message
	m.ToolCalls = slices.Clone(m.ToolCalls)
	if full := len(m.Reasoning); full > 0 {
		m.Reasoning = cut(m.Reasoning, limit/8)
		did.addf("the reasoning had %d bytes", full)
	}
	for size() > limit {
		longest := -1
		for i, c := range m.ToolCalls {
			if len(c.Arguments) > 1024 && (longest < 0 || len(c.Arguments) > len(m.ToolCalls[longest].Arguments)) {
				longest = i
			}
		}
		if longest < 0 {
			break
		}
		c := &m.ToolCalls[longest]
		did.addf("the arguments of %s had %d bytes and were removed, so the call is not run", quote(c.Name), len(c.Arguments))
		c.Arguments = fmt.Sprintf(`"%d bytes, left out: too many"`, len(c.Arguments))
	}
	if full := m.Content; size() > limit && full != "" {
		did.addf("the text had %d bytes and was cut", len(full))
		// The JSON form of a byte has up to six bytes, so the number of bytes to keep is found by trying.
		for keep := min(len(full), limit); keep > 0 && size() > limit; keep = keep * 7 / 8 {
			m.Content = cut(full, keep)
		}
	}
	return reply
}

// cut shortens a text that is longer than the parameter keep, in bytes. It returns the beginning of such a text and a note
// that says how many bytes were left out. The beginning has at most keep bytes. It may have fewer, because cut does not cut
// within a character and removes white space before the note. A text that is not too long is returned unchanged.
func cut(text string, keep int) string {
	head := clip.Prefix(text, keep)
	if len(head) == len(text) {
		return text
	}
	return strings.TrimRight(head, " \n") + fmt.Sprintf("\n[… %d bytes left out]", len(text)-len(head))
}
