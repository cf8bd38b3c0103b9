package llm

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Check reports why no endpoint would take the request, as an [*Error] of class [InvalidRequest]: a call
// without exactly one result right behind it, a result without its call, arguments that are no JSON object,
// a tool message without text, or tools that are not sorted by name. It is the last
// gate before a request is sent: what builds requests keeps to this, and one that
// does not pass would be refused again on every turn.
func (r Request) Check() error {
	if len(r.Candidates) == 0 {
		return refusef("there is no candidate")
	}
	for i, t := range r.Tools[min(1, len(r.Tools)):] {
		if r.Tools[i].Name >= t.Name {
			return refusef("tool %q comes before %q: tools are sorted by name, each there once", r.Tools[i].Name, t.Name)
		}
	}
	var open []string // calls of the last assistant message without a result
	for i, m := range r.Messages {
		if m.Role != Tool && len(open) > 0 {
			return refusef("message %d: the calls %v before it have no result", i, open)
		}
		switch m.Role {
		case System:
			if i > 0 {
				return refusef("message %d: a system message that is not the first", i)
			}
		case User:
		case Tool:
			at := slices.Index(open, m.ToolCallID)
			if at < 0 {
				return refusef("message %d: the result of %q has no call before it", i, m.ToolCallID)
			}
			if m.Content == "" && len(m.Parts) == 0 {
				return refusef("message %d: the result of %q is empty", i, m.ToolCallID)
			}
			open = slices.Delete(open, at, at+1)
		case Assistant:
			for _, c := range m.ToolCalls {
				if c.ID == "" || slices.Contains(open, c.ID) {
					return refusef("message %d: the call ID %q is empty or there twice", i, c.ID)
				}
				if !object(c.Arguments) {
					return refusef("message %d: the arguments of %s are not a JSON object", i, c.Name)
				}
				open = append(open, c.ID)
			}
		default:
			return refusef("message %d has the role %q", i, m.Role)
		}
	}
	if len(open) > 0 {
		return refusef("the calls %v have no result", open)
	}
	return nil
}

func object(text string) bool {
	return strings.HasPrefix(strings.TrimSpace(text), "{") && json.Valid([]byte(text))
}

func refusef(format string, args ...any) error {
	return &Error{Class: InvalidRequest, Message: "not sent: " + fmt.Sprintf(format, args...)}
}
