package standin

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/llm"
)

// geminiSkips are the texts that Gemini accepts in place of a signature. They are for calls that Gemini did not make. Source:
// Google's page "Thought signatures".
var geminiSkips = []string{"skip_thought_signature_validator", "context_engineering_is_the_way_to_go"}

// geminiFields are the members of a body that Gemini's OpenAI-compatible endpoint knows. `seed` is not one of them. Source: the
// issues Vali-98/ChatterUI#227 and MinLL/SkyrimNet-GamePlugin#77, which quote the error.
var geminiFields = []string{
	"model", "messages", "tools", "tool_choice", "parallel_tool_calls", "stream", "stream_options", "temperature", "top_p",
	"max_tokens", "max_completion_tokens", "reasoning_effort", "response_format", "stop", "n", "user", "extra_body",
}

// Gemini returns a [Provider] that behaves like Gemini 3 at its OpenAI-compatible endpoint.
//   - Each reply has a signature in `extra_content.google.thought_signature`: on the first call, or on the message if there are no
//     calls. A stream has each call in one event, without an index.
//   - In the messages after the last user message, the first call of each assistant message must have its signature. The other
//     signatures are only recommended. A request without one is accepted, and the missing signature is recorded: see [Provider.Violations].
//   - The schema of a tool must have properties.
//   - Unknown members of the body, such as `seed`, are refused.
//   - A model before Gemini 3 takes no `response_format` beside tools.
//
// Sources: Google's pages "Thought signatures" and "OpenAI compatibility", and the issues that the comments of the functions name.
func Gemini() *Provider {
	return &Provider{
		rules:   []rule{geminiKnows, geminiFormat, geminiSchemas, geminiSigned},
		dress:   signed,
		format:  func(whole *completion) { whole.Choices[0].Message.whole = true },
		problem: geminiProblem,
	}
}

// geminiFormat refuses an output format beside tools. Source: googleapis/python-genai#867.
func geminiFormat(_ *Provider, r *posted) *refusal {
	if r.outputFormat() == "" || len(r.Tools) == 0 || !strings.Contains(r.Model, "gemini-2") {
		return nil
	}
	return invalid("", "Function calling with a response mime type: 'application/json' is unsupported")
}

// geminiContent is the value of `extra_content`.
type geminiContent struct {
	Google struct {
		Signature string `json:"thought_signature"`
	} `json:"google"`
}

// signature returns the signature in a JSON value `extra_content`; "" if there is none.
func signature(extra json.RawMessage) string {
	var content geminiContent
	_ = json.Unmarshal(extra, &content)
	return content.Google.Signature
}

// signed adds the signature to a reply. A reply that already has a signature keeps it.
func signed(p *Provider, r *posted, reply llm.Reply) llm.Reply {
	m := &reply.Message
	at, name := &m.Opaque, "message"
	if len(m.ToolCalls) > 0 {
		at, name = &m.ToolCalls[0].Opaque, m.ToolCalls[0].Name
	}
	own := signature(members(at.Data)["extra_content"])
	if own == "" {
		var content geminiContent
		own = fmt.Sprintf("sig+/%s%016x==", r.digest, digest(encoded(m)))
		content.Google.Signature = own
		include(at, "extra_content", content)
	}
	p.remember("signature "+own, name)
	if len(m.ToolCalls) == 0 {
		p.remember(key(*m), own)
	}
	return reply
}

// geminiSigned checks the signatures of the messages. Source of the wordings: the issues manthanabc/paws#103 and
// google-gemini/gemini-cli#13467.
func geminiSigned(p *Provider, r *posted) *refusal {
	position := 0 // Gemini counts from 1, without system messages, and counts successive results of tools as one
	for i, m := range r.Messages {
		switch {
		case m.Role == "system" || m.Role == "developer":
			continue
		case m.Role != "tool" || i == 0 || r.Messages[i-1].Role != "tool":
			position++
		}
		if m.Role != "assistant" {
			continue
		}
		if len(m.ToolCalls) == 0 {
			sent := p.memory(key(m.message()))
			if len(sent) > 0 && !slices.Contains(sent, signature(r.each[i]["extra_content"])) {
				p.violation(fmt.Sprintf("messages[%d]: the signature of the text is missing or changed", i))
			}
			continue
		}
		if refused := p.signedCalls(r, i, position); refused != nil {
			return refused
		}
	}
	return nil
}

// signedCalls checks the signatures of the calls of message number `i`. `position` is the position of this message as Gemini
// counts it: see [geminiSigned].
func (p *Provider) signedCalls(r *posted, i, position int) *refusal {
	for n, call := range r.calls(i) {
		found, name := signature(call["extra_content"]), r.Messages[i].ToolCalls[n].Function.Name
		names := p.memory("signature " + found)
		var refused *refusal
		switch {
		case n > 0 && found != "":
			p.violation(fmt.Sprintf("messages[%d]: call number %d has a signature, but only the first call may have one", i, n))
			continue
		case n > 0 || slices.Contains(geminiSkips, found):
			continue
		case found == "":
			refused = invalid("", "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:%s` , position %d. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.", name, position)
		case len(names) == 0:
			refused = invalid("", "Corrupted thought signature.")
		case !slices.Contains(names, name):
			p.violation(fmt.Sprintf("messages[%d]: the signature belongs to another call", i))
		}
		if refused != nil && i >= r.turn() {
			return refused
		}
		if refused != nil {
			p.violation(fmt.Sprintf("messages[%d]: %s", i, refused.message))
		}
	}
	return nil
}

// geminiSchemas refuses tools whose schema has no properties. A tool without parameters must omit its schema. Source: the issue
// agno-agi/agno#2112.
func geminiSchemas(_ *Provider, r *posted) *refusal {
	var faults strings.Builder
	for i, t := range r.Tools {
		var schema struct {
			Properties map[string]any `json:"properties"`
		}
		if t.Function.Parameters != nil && json.Unmarshal(t.Function.Parameters, &schema) == nil && len(schema.Properties) == 0 {
			fmt.Fprintf(&faults, "* GenerateContentRequest.tools[0].function_declarations[%d].parameters.properties: should be non-empty for OBJECT type\n", i)
		}
	}
	if faults.Len() > 0 {
		return invalid("", "%s", faults.String())
	}
	return nil
}

func geminiKnows(_ *Provider, r *posted) *refusal {
	var faults []string
	for _, name := range sorted(r.fields) {
		if !slices.Contains(geminiFields, name) {
			faults = append(faults, fmt.Sprintf("Invalid JSON payload received. Unknown name %q: Cannot find field.", name))
		}
	}
	if faults != nil {
		return invalid("", "%s", strings.Join(faults, "\n"))
	}
	return nil
}

// geminiStatuses maps HTTP statuses to the names of these statuses in Google's errors.
var geminiStatuses = map[int]string{
	http.StatusBadRequest:         "INVALID_ARGUMENT",
	http.StatusUnauthorized:       "UNAUTHENTICATED",
	http.StatusForbidden:          "PERMISSION_DENIED",
	http.StatusNotFound:           "NOT_FOUND",
	http.StatusTooManyRequests:    "RESOURCE_EXHAUSTED",
	http.StatusServiceUnavailable: "UNAVAILABLE",
}

// geminiProblem returns the body of an error response: a list with one error.
func geminiProblem(r *refusal) any {
	status := geminiStatuses[r.status]
	if status == "" {
		status = "INTERNAL"
	}
	return []any{map[string]any{"error": map[string]any{"code": r.status, "message": r.message, "status": status}}}
}
