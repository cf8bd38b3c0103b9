package repair

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/internal/clip"
	"github.com/reagent-dev/reagent/llm"
)

// Fit returns reply with what is too long in it left out, so that its JSON takes
// no more than limit bytes; Repaired tells what was. Text and reasoning are cut,
// with a mark. Arguments never are: those that do not fit become a text that is
// no JSON object and says so, by which the call is not run. Identifiers and the
// like are left alone; a limit of some kilobytes has room for them.
func Fit(reply llm.Reply, limit int) llm.Reply {
	size := func() int {
		encoded, _ := json.Marshal(reply) // strings and numbers: cannot fail
		return len(encoded)
	}
	if size() <= limit {
		return reply
	}
	did := &log{lines: slices.Clone(reply.Repaired)}
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
		did.addf("the arguments of %s had %d bytes, too many to be run", quote(c.Name), len(c.Arguments))
		c.Arguments = fmt.Sprintf(`"%d bytes, left out: too many"`, len(c.Arguments))
	}
	reply.Repaired = did.lines
	if full := m.Content; size() > limit && full != "" {
		did.addf("the text had %d bytes", len(full))
		reply.Repaired = did.lines
		// Of unknown characters a byte takes up to six.
		for keep := min(len(full), limit); keep > 0 && size() > limit; keep = keep * 7 / 8 {
			m.Content = cut(full, keep)
		}
	}
	return reply
}

// cut returns the first bytes of a text, whole characters, and a mark.
func cut(text string, keep int) string {
	head := clip.Prefix(text, keep)
	if len(head) == len(text) {
		return text
	}
	return strings.TrimRight(head, " \n") + fmt.Sprintf("\n[… %d bytes left out]", len(text)-len(head))
}
