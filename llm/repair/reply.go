// Package repair puts right what models write wrong about tools, where it is
// plain what was meant: a name in the wrong case, arguments in a code fence, a
// call in the text. What is not plain is left for an error result to the model:
// above all, a call whose arguments are cut off is never completed.
//
// It is pure: the same reply to the same request is always put right in the same
// way. What is right already stays as it is, byte for byte.
package repair

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/llm"
)

// Reply returns reply, which answers req, put right; Repaired tells what was
// done. The calls of the result have names that may be sent again and IDs that
// differ. The arguments of a call of a tool that req offers are a JSON object
// without doubled members, or not to be run. Other calls keep the arguments
// they have: they are refused anyway.
func Reply(reply llm.Reply, req llm.Request) llm.Reply {
	m := &reply.Message
	did := &log{lines: slices.Clone(reply.Repaired)}
	tools := req.Tools
	if req.Params.ToolChoice == "none" {
		tools = nil
	}
	if len(m.ToolCalls) == 0 {
		if calls := spoken(m.Content, tools, len(req.Params.OutputSchema) == 0); calls != nil {
			m.ToolCalls, m.Content = calls, ""
			did.addf("a call was written as text")
		}
	}
	m.ToolCalls = slices.Clone(m.ToolCalls)
	for i := range m.ToolCalls {
		last := i == len(m.ToolCalls)-1
		call(&m.ToolCalls[i], req.Tools, last && cutShort(reply.FinishReason), did)
	}
	distinguish(m.ToolCalls)
	reply.Repaired = did.lines
	return reply
}

// call puts one call right. A call that is cut short is the last one of a reply
// that met its limit.
func call(c *llm.ToolCall, tools []llm.ToolSpec, cut bool, did *log) {
	name, known := resolve(c.Name, tools)
	if name != c.Name {
		did.addf("the name %s is now %s", quote(c.Name), quote(name))
		c.Name = name
	}
	if !known {
		return
	}
	if cut && blank(c.Arguments) {
		// No arguments yet is not the same as none: {} would run the call.
		c.Arguments = "{"
		did.addf("the arguments of %s were cut off before they began", c.Name)
		return
	}
	if text, how := arguments(c.Arguments); how != "" {
		c.Arguments = text
		did.addf("the arguments of %s %s", c.Name, how)
	}
}

// cutShort reports whether a finish reason says that the output limit was met.
func cutShort(reason string) bool {
	return strings.EqualFold(reason, "length") || strings.EqualFold(reason, "max_tokens")
}

// distinguish gives calls without an ID, and a second call under one ID, an ID
// of their own: results are paired with calls by it. The minted ID depends on
// the position alone, so the same reply read again has the same IDs.
func distinguish(calls []llm.ToolCall) {
	taken := map[string]bool{"": true}
	for _, c := range calls {
		taken[c.ID] = true
	}
	seen := map[string]bool{"": true}
	for i := range calls {
		id := calls[i].ID
		if seen[id] {
			id = fmt.Sprintf("call_%d", i)
			for taken[id] {
				id += "_"
			}
		}
		seen[id], taken[id] = true, true
		calls[i].ID = id
	}
}

// log collects what was done. It is bounded: replies are kept in histories.
type log struct{ lines []string }

const maxLines = 20

func (l *log) addf(format string, args ...any) {
	if len(l.lines) < maxLines {
		l.lines = append(l.lines, fmt.Sprintf(format, args...))
	}
}

// quote is a name that a model wrote, short enough to be told.
func quote(name string) string {
	if len(name) > maxName {
		name = strings.ToValidUTF8(name[:maxName], "") + "…"
	}
	return fmt.Sprintf("%q", name)
}
