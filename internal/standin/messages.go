package standin

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/reagent-dev/reagent/llm"
)

// Messages is Anthropic's Messages API. If a reply has reasoning, its first block is a thinking block with a signature. A request
// that changes or moves such a block is refused.
var Messages API = messages{}

// messages is Anthropic's Messages API, or that of a provider: see [compatible].
type messages struct {
	provider *Provider // nil means Anthropic
}

func (a messages) read(body []byte, lenient bool) (asked, *refusal) {
	wire, refused := readMessages(body)
	if refused == nil && !lenient {
		if refused = wire.check(a.provider != nil); refused == nil && a.provider != nil {
			refused = a.provider.refuseThoughts(wire, newPosted(&request{}, body, nil))
		}
	}
	return asked{request: wire.request(), model: wire.Model, stream: wire.Stream}, refused
}

func (a messages) body(model string, reply llm.Reply) any {
	whole := messageOf(model, reply)
	if a.provider != nil {
		whole.sign(a.provider.compatible.sign)
	}
	return whole
}

func (messages) finish() string { return "event: message_delta" }

type headerChecker interface {
	// checkHeader returns the provider's error response for a request with invalid headers; nil if they are valid.
	checkHeader(h http.Header) *refusal
}

var _ headerChecker = messages{}

func (messages) checkHeader(h http.Header) *refusal {
	if h.Get("Anthropic-Version") == "" {
		return invalid("", "anthropic-version: header is required")
	}
	return nil
}

type messagesError struct {
	Type  string `json:"type"`
	Error struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
	RequestID string `json:"request_id"`
}

func (a messages) problem(r *refusal) any {
	if a.provider != nil && a.provider.compatible.problem != nil {
		return a.provider.compatible.problem(r)
	}
	e := messagesError{Type: "error", RequestID: "req_test"}
	e.Error.Type, e.Error.Message = "invalid_request_error", r.message
	switch {
	case r.code == "context_length_exceeded":
		e.Error.Message = "prompt is too long: " + r.message
	case r.code == "content_filter":
		e.Error.Message = "Output blocked by content filtering policy: " + r.message
	case r.code == "insufficient_quota":
		e.Error.Message = "Your credit balance is too low to access the Anthropic API: " + r.message
	case r.code == "invalid_api_key":
		e.Error.Type = "authentication_error"
	case r.code == "model_not_found" || r.status == 404:
		e.Error.Type = "not_found_error"
	case r.code == "request_too_large":
		e.Error.Type = "request_too_large"
	case r.status == 429:
		e.Error.Type = "rate_limit_error"
	case r.status == 503 || r.status == 529:
		e.Error.Type = "overloaded_error"
	case r.status >= 500:
		e.Error.Type = "api_error"
	}
	return e
}

// Sent returns what remains of a request:
//   - The parameter `seed` and the reasoning of messages are missing.
//   - The schemas of tools have the type "object" and properties, and the schema of the reply has "additionalProperties":false.
//   - The JSON of schemas and arguments has no white space between its tokens.
//   - A user turn is divided into one message for each tool result, and one message for the text and the images after the
//     results.
//   - The ID of a call that occurs again has a number at its end.
//   - In a message with calls, a text with only white space is missing, because the API refuses it.
func (messages) Sent(req llm.Request) llm.Request {
	req = Copy(req)
	req.Params.Seed = nil
	req.Params.OutputSchema = closedSchema(req.Params.OutputSchema)
	for i := range req.Tools {
		req.Tools[i].Parameters = filledSchema(req.Tools[i].Parameters)
	}
	times, now := map[string]int{}, map[string]string{}
	for i := range req.Messages {
		m := &req.Messages[i]
		m.Reasoning = ""
		if len(m.ToolCalls) > 0 && strings.TrimSpace(m.Content) == "" {
			m.Content = ""
		}
		if m.ToolCallID != "" {
			m.ToolCallID = now[m.ToolCallID]
		}
		for j := range m.ToolCalls {
			call := &m.ToolCalls[j]
			times[call.ID]++
			id := call.ID
			if times[id] > 1 {
				id = fmt.Sprintf("%s_%d", id, times[id])
			}
			now[call.ID] = id
			call.ID, call.Arguments = id, compactText(call.Arguments)
		}
	}
	return req
}

// Received returns what remains of a reply. The finish reasons have other names, the input of a call has no white space between its
// tokens and is never empty, and the reasoning has a signature.
func (messages) Received(reply llm.Reply) llm.Reply {
	reply.Message.Role = llm.Assistant
	reply.FinishReason = stopReason(reply)
	whole := messageOf("", reply)
	reply.Message.ToolCalls = append([]llm.ToolCall(nil), reply.Message.ToolCalls...)
	for i := range reply.Message.ToolCalls {
		call := &reply.Message.ToolCalls[i]
		call.Arguments = compactText(call.Arguments)
		if call.Arguments == "" {
			call.Arguments = "{}"
		}
	}
	if reply.Message.Reasoning == "" {
		return reply
	}
	// The client keeps the thinking block. Of each other block, it keeps only the type and the length of the text.
	var places []any
	for _, b := range whole.Content {
		switch b.Type {
		case "text":
			places = append(places, struct {
				Type   string `json:"type"`
				Length int    `json:"length"`
			}{b.Type, len(*b.Text)})
		case "tool_use":
			places = append(places, struct {
				Type string `json:"type"`
			}{b.Type})
		default:
			places = append(places, b)
		}
	}
	reply.Message.Opaque = llm.Opaque{Family: "anthropic", Data: string(compact(places))}
	return reply
}

// stopReason returns Anthropic's stop reason for the finish reason of a reply. It returns a finish reason that only another provider has
// unchanged.
func stopReason(reply llm.Reply) string {
	switch reply.FinishReason {
	case "stop":
		return "end_turn"
	case "tool_calls":
		return "tool_use"
	case "length":
		return "max_tokens"
	case "":
		if len(reply.Message.ToolCalls) > 0 {
			return "tool_use"
		}
		return "end_turn"
	}
	return reply.FinishReason
}

// blockSignature returns the signature of a thinking block. `thinking` is its text, and `at` is its index in the message's
// content.
func blockSignature(thinking string, at int) string {
	sum := sha256.Sum256([]byte(fmt.Sprintf("%d %s", at, thinking)))
	return "sig/" + base64.StdEncoding.EncodeToString(sum[:])
}

// compactText returns a JSON text without white space between its tokens. It returns other texts unchanged.
func compactText(encoded string) string {
	var out bytes.Buffer
	if json.Compact(&out, []byte(encoded)) != nil {
		return encoded
	}
	return out.String()
}

// filledSchema adds the member "properties" to a tool's schema without this member, because the API requires it. It also removes white
// space between the tokens of the schema.
func filledSchema(schema json.RawMessage) json.RawMessage {
	all := strings.TrimSpace(string(schema))
	if all == "" {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	var has map[string]json.RawMessage
	if json.Unmarshal(schema, &has) == nil && has["properties"] == nil {
		all = strings.TrimSuffix(all, "}") + `,"properties":{}}`
	}
	return json.RawMessage(compactText(all))
}

// closedSchema adds "additionalProperties":false to a schema. It supports only schemas without inner objects. If
// `additionalProperties` already occurs in the schema, closedSchema returns the schema unchanged.
func closedSchema(schema json.RawMessage) json.RawMessage {
	if len(schema) == 0 || bytes.Contains(schema, []byte("additionalProperties")) {
		return schema
	}
	return json.RawMessage(compactText(strings.TrimSuffix(strings.TrimSpace(string(schema)), "}") + `,"additionalProperties":false}`))
}
