package repair

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/internal/clip"
	"github.com/reagent-dev/reagent/llm"
)

// Fit shortens a reply that is too large to be stored. It returns a copy whose JSON form has at most `limit` bytes. If the
// reply is short enough, Fit returns it unchanged.
//
// Fit removes the data of the provider (see [llm.Opaque]), because such data cannot be cut. Fit cuts the text and the reasoning, and
// adds a note where it has cut them. It replaces long arguments of a tool call by a text that is not a JSON object. Therefore the
// agent does not run the call. For each change, Fit adds a text to [llm.Reply.Repaired], which gets at most 20 texts.
//
// Fit does not shorten other fields, such as IDs and short arguments. If the other fields alone have more than `limit` bytes,
// the copy is too long. Therefore `limit` must be at least a few kilobytes.
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
		// The length is reported even if nothing was cut.
		did.addf("the reasoning had %d bytes", full)
	}
	if size() > limit {
		removed := len(m.Opaque.Data)
		m.Opaque = llm.Opaque{}
		for i := range m.ToolCalls {
			removed += len(m.ToolCalls[i].Opaque.Data)
			m.ToolCalls[i].Opaque = llm.Opaque{}
		}
		if removed > 0 {
			did.addf("data of the provider with %d bytes was removed", removed)
		}
	}
	// Arguments are never cut. The longest arguments are replaced first.
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

// cut returns the beginning of a text, and a note that says how many bytes were left out. The beginning has at most `keep`
// bytes. It may have fewer, because cut does not cut within a character and removes white space before the note. If the text
// has at most `keep` bytes, cut returns the text unchanged.
func cut(text string, keep int) string {
	head := clip.Prefix(text, keep)
	if len(head) == len(text) {
		return text
	}
	return strings.TrimRight(head, " \n") + fmt.Sprintf("\n[… %d bytes left out]", len(text)-len(head))
}
