// Package repair corrects mistakes of models in tool calls if it is clear what the model meant. Examples are a name in the wrong
// case, arguments in a code fence, and a call that was written as text. If it is not clear, the agent does not run the call,
// and the model gets an error result. In particular, the package never completes arguments that were cut off.
//
// The functions are pure: the result depends only on the arguments. They do not change correct calls, not even a byte.
package repair

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/internal/finish"
	"github.com/reagent-dev/reagent/llm"
)

// Reply returns a copy of a model's reply to `req` with corrected tool calls. The calls in the copy have these properties:
//   - All calls have different IDs, and endpoints accept their names.
//   - If a call names a tool of `req` and it is clear what the model meant, the arguments are a JSON object. If the object is nested
//     at most 100 levels deep, it has no duplicate members.
//   - If a call names a tool of `req` and it is not clear what the model meant, the arguments are not a JSON object. So the agent does
//     not run the call.
//
// A model may write its calls as text. If the reply has no calls, its text consists of calls, and the request allows calls, Reply
// moves the calls out of the text. If the text only begins or ends with calls, Reply moves them, too, but with arguments that are not a
// JSON object, because the model may have copied the calls from a file or a tool result. If the last reply in `req` had such calls,
// Reply leaves the text as it is, so that an answer can contain the text of a call.
//
// Reply also moves reasoning from the text to [llm.Message.Reasoning]. For each correction of a call except a new ID, Reply adds a text
// to [llm.Reply.Repaired], which gets at most 20 texts.
func Reply(reply llm.Reply, req llm.Request) llm.Reply {
	m := &reply.Message
	did := &log{lines: slices.Clone(reply.Repaired)}
	tools := req.Tools
	if req.Params.ToolChoice == "none" {
		tools = nil // the model must not call tools, so its text is not read as a call
	}
	think(m, finish.AtLimit(reply.FinishReason))
	if len(m.ToolCalls) == 0 {
		if calls := spoken(m.Content, tools, len(req.Params.OutputSchema) == 0); calls != nil {
			m.ToolCalls, m.Content = calls, ""
			did.addf("a call was written as text")
		} else if calls, other, ok := beside(m.Content, tools); ok && !refusedBefore(req.Messages) {
			m.ToolCalls, m.Content = calls, other
			did.addf("a call was written as text beside other text; it is not run")
		}
	}
	m.ToolCalls = slices.Clone(m.ToolCalls)
	for i := range m.ToolCalls {
		last := i == len(m.ToolCalls)-1
		call(&m.ToolCalls[i], req.Tools, last && finish.Cut(reply.FinishReason), did)
	}
	distinguish(m.ToolCalls)
	reply.Repaired = did.lines
	return reply
}

// call corrects the name and the arguments of the tool call `c`. It adds a text about each correction to the log `did`. `cut` says
// that the arguments may be cut off, because `c` is the last call of a reply that reached the output limit.
func call(c *llm.ToolCall, tools []llm.ToolSpec, cut bool, did *log) {
	name, known := resolve(c.Name, tools)
	if name != c.Name {
		did.addf("the name %s is now %s", quote(c.Name), quote(name))
		c.Name = name
	}
	if !known {
		return // the agent refuses the call anyway, so the arguments need no correction
	}
	if cut && (blank(c.Arguments) || strings.TrimSpace(c.Arguments) == "{}") {
		// The model may have wanted to write arguments: for those that have not begun, endpoints send nothing, null or {}. With {} the call
		// would run without them.
		c.Arguments = "{"
		did.addf("the arguments of %s were cut off before they began", c.Name)
		return
	}
	if text, how := arguments(c.Arguments); how != "" {
		c.Arguments = text
		did.addf("the arguments of %s %s", c.Name, how)
	}
}

// distinguish gives a new ID to each call without an ID, and to each call with the ID of an earlier call. Different IDs are
// necessary because a result belongs to the call with the same ID. A new ID depends only on the position of the call and on
// the other IDs, so the same reply always gets the same IDs.
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

// log collects the texts for [llm.Reply.Repaired]. It keeps at most [maxLines] texts, because replies are stored in workflow histories.
type log struct{ lines []string }

const maxLines = 20

// addf formats a text like [fmt.Sprintf] and adds it to the log. If the log is full, addf does nothing.
func (l *log) addf(format string, args ...any) {
	if len(l.lines) < maxLines {
		l.lines = append(l.lines, fmt.Sprintf(format, args...))
	}
}

// quote returns a name in quotes for a text of the log. It shortens a name that is longer than maxName.
func quote(name string) string {
	if len(name) > maxName {
		name = strings.ToValidUTF8(name[:maxName], "") + "…"
	}
	return fmt.Sprintf("%q", name)
}
