package llm

import (
	"fmt"
	"slices"
)

// Check looks for mistakes in a request before the request is sent. It returns an [*Error] of class [InvalidRequest] if the
// request violates one of these conditions:
//   - The request has at least one candidate.
//   - The tools are sorted by name, and no name occurs twice.
//   - Only the first message may be a system message. The role of each message is [System], [User], [Assistant] or [Tool].
//   - Each tool call has an ID, and the IDs within one message are different. The arguments are JSON objects.
//   - Directly after a message with tool calls come the tool messages with the results: one for each call, in any order. There
//     are no other tool messages.
//   - Each tool message has text or a [Part].
//
// The code that builds requests must already ensure these conditions. Check finds mistakes of that code before an endpoint
// finds them. An invalid message must not stay in a conversation, because the endpoint would refuse every later request of
// the conversation, too.
func (r Request) Check() error {
	if len(r.Candidates) == 0 {
		return refusef("the request has no candidate; set Candidates")
	}
	for i, t := range r.Tools[min(1, len(r.Tools)):] {
		if r.Tools[i].Name >= t.Name {
			return refusef("tool %q comes before %q: sort the tools by name, without duplicates", r.Tools[i].Name, t.Name)
		}
	}
	var open []string // IDs of the calls in the last assistant message that have no result yet
	for i, m := range r.Messages {
		if m.Role != Tool && len(open) > 0 {
			return refusef("message %d is not a tool message, but the tool calls %q before it have no result yet; add a tool message for each call", i, open)
		}
		switch m.Role {
		case System:
			if i > 0 {
				return refusef("message %d is a system message, but only the first message may be one; remove or move it", i)
			}
		case User:
		case Tool:
			at := slices.Index(open, m.ToolCallID)
			if at < 0 {
				return refusef("message %d: the result of %q has no call before it; add the call, or remove the result", i, m.ToolCallID)
			}
			if m.Content == "" && len(m.Parts) == 0 {
				return refusef("message %d: the result of %q is empty; set Content or Parts", i, m.ToolCallID)
			}
			open = slices.Delete(open, at, at+1)
		case Assistant:
			for _, c := range m.ToolCalls {
				if c.ID == "" || slices.Contains(open, c.ID) {
					return refusef("message %d: the call ID %q is empty or not unique; give each call an ID of its own", i, c.ID)
				}
				if !IsObject(c.Arguments) {
					return refusef("message %d: the arguments of %s are not a JSON object; correct them", i, c.Name)
				}
				open = append(open, c.ID)
			}
		default:
			return refusef("message %d has the unknown role %q; use system, user, assistant or tool", i, m.Role)
		}
	}
	if len(open) > 0 {
		return refusef("the tool calls %q have no result; add a tool message for each call", open)
	}
	return nil
}

// refusef says in the error that the request was not sent, so that nobody looks for the mistake in the endpoint.
func refusef(format string, args ...any) error {
	return &Error{Class: InvalidRequest, Message: "not sent: " + fmt.Sprintf(format, args...)}
}
