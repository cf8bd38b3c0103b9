package standin

import (
	"cmp"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
)

var mistralCallID = regexp.MustCompile(`^[a-zA-Z0-9]{9}$`)

// mistralFields are the members of a body that Mistral knows. mistralMembers are those of the messages, by role.
var (
	mistralFields = []string{
		"model", "messages", "tools", "tool_choice", "parallel_tool_calls", "stream", "stream_options", "temperature", "top_p",
		"max_tokens", "random_seed", "response_format", "reasoning_effort", "prompt_mode", "stop", "n", "presence_penalty",
		"frequency_penalty", "prediction", "safe_prompt", "metadata", "guardrails", "prompt_cache_key",
	}
	mistralMembers = map[string][]string{
		"system":    {"role", "content"},
		"user":      {"role", "content"},
		"assistant": {"role", "content", "tool_calls", "prefix"},
		"tool":      {"role", "content", "tool_call_id", "name"},
	}
)

// Mistral returns a [Provider] that behaves like Mistral.
//   - It refuses unknown members of the body, of messages and of calls; `max_completion_tokens` and `seed` are unknown.
//   - The ID of a tool call must have nine letters or digits.
//   - After a tool message, only a tool message or an assistant message may come.
//   - The last message must not be an assistant message, unless it has "prefix":true.
//
// Sources: Mistral's API reference and the sources of mistral-common, editor-code-assistant/eca#231 and charmbracelet/crush#1590
// for unknown members, editor-code-assistant/eca#233 for IDs, datapizza-labs/datapizza-ai#98 and 0xPlaygrounds/rig#1130 for the
// order.
func Mistral() *Provider {
	return &Provider{rules: []rule{mistralKnows, mistralCallIDs, mistralOrder}, problem: mistralProblem}
}

// forbidden describes one unknown member in an error response of a server that uses Pydantic.
type forbidden struct {
	Type  string          `json:"type"`
	Loc   []any           `json:"loc"`
	Msg   string          `json:"msg"`
	Input json.RawMessage `json:"input"`
}

// extras returns a description for each member of `found` that is not in `known`. `at` is the path of the object.
func extras(found map[string]json.RawMessage, known []string, at ...any) []forbidden {
	var all []forbidden
	for _, name := range sorted(found) {
		if !slices.Contains(known, name) {
			all = append(all, forbidden{"extra_forbidden", slices.Concat(at, []any{name}), "Extra inputs are not permitted", found[name]})
		}
	}
	return all
}

func mistralKnows(_ *Provider, r *posted) *refusal {
	all := extras(r.fields, mistralFields, "body")
	for i, m := range r.each {
		role := r.Messages[i].Role
		if known := mistralMembers[role]; known != nil {
			all = append(all, extras(m, known, "body", "messages", i, role)...)
		}
		for n, call := range r.calls(i) {
			all = append(all, extras(call, []string{"id", "type", "function", "index"}, "body", "messages", i, role, "tool_calls", n)...)
		}
	}
	if all == nil {
		return nil
	}
	return &refusal{status: http.StatusUnprocessableEntity, body: map[string]any{
		"object": "error", "message": map[string]any{"detail": all}, "type": "invalid_request_error", "param": nil, "code": nil,
	}}
}

// mistralCallIDs refuses IDs of tool calls in another form than Mistral's.
func mistralCallIDs(_ *Provider, r *posted) *refusal {
	for _, m := range r.Messages {
		var ids []string
		for _, call := range m.ToolCalls {
			ids = append(ids, call.ID)
		}
		if m.ToolCallID != nil {
			ids = append(ids, *m.ToolCallID)
		}
		for _, id := range ids {
			if !mistralCallID.MatchString(id) {
				refused := invalid("", "Tool call id was %s but must be a-z, A-Z, 0-9, with a length of 9.", id)
				refused.kind, refused.code = "invalid_function_call", "3280"
				return refused
			}
		}
	}
	return nil
}

// mistralOrder refuses orders of roles that [Mistral] forbids.
func mistralOrder(_ *Provider, r *posted) *refusal {
	wrong := func(format string, args ...any) *refusal {
		refused := invalid("", format, args...)
		refused.kind, refused.code = "invalid_request_message_order", "3230"
		return refused
	}
	last := ""
	for _, m := range r.Messages {
		if last == "tool" && m.Role != "tool" && m.Role != "assistant" {
			return wrong("Unexpected role '%s' after role 'tool'", m.Role)
		}
		last = m.Role
	}
	if last == "assistant" && string(r.each[len(r.each)-1]["prefix"]) != "true" {
		return wrong("Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant")
	}
	return nil
}

// kindOf returns the type of an error; "invalid_request_error" if it has none.
func kindOf(r *refusal) string { return cmp.Or(r.kind, "invalid_request_error") }

func mistralProblem(r *refusal) any {
	return map[string]any{"object": "error", "message": r.message, "type": kindOf(r), "param": nil, "code": orNull(r.code)}
}
