package standin

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/reagent-dev/reagent/llm"
)

// Responses is OpenAI's Responses API. An [Endpoint] stores no responses, so a request must have the whole conversation, and items
// of reasoning have encrypted content.
var Responses API = responses{}

type responses struct{}

func (responses) read(body []byte, lenient bool) (asked, *refusal) {
	wire, refused := readResponsesRequest(body)
	if refused == nil && !lenient {
		refused = wire.check()
	}
	return asked{wire.request(), wire.Model, wire.Stream, true}, refused
}

func (responses) body(model string, reply llm.Reply) any { return responseOf(model, reply) }

func (responses) events(model string, reply llm.Reply, _ bool, cut cutter) []event {
	return responseEvents(responseOf(model, reply), cut)
}

// finish returns the beginning of the data of every event, because the type of the last event depends on the reply.
func (responses) finish() string { return `{"type":"response.` }

func (r responses) problem(refused *refusal) any { return chat{}.problem(refused) }

// Sent returns what remains of a request. The API has no seed. The schema of a tool is required. Each call ID must be unique.
// If an ID is used again, a client appends the number of the use. Reasoning and opaque data are missing, because the Endpoint
// does not decode items of reasoning.
func (responses) Sent(req llm.Request) llm.Request {
	req = Copy(req)
	req.Params.Seed = nil
	if len(req.Params.OutputSchema) > 0 {
		req.Params.OutputSchema = objectSchema(req.Params.OutputSchema)
	}
	for i, t := range req.Tools {
		req.Tools[i].Parameters = objectSchema(t.Parameters)
	}
	uses, current := map[string]int{}, map[string]string{}
	for i := range req.Messages {
		m := &req.Messages[i]
		m.Reasoning, m.Opaque = "", llm.Opaque{}
		for j := range m.ToolCalls {
			id := m.ToolCalls[j].ID
			current[id] = id
			if uses[id]++; uses[id] > 1 {
				current[id] = fmt.Sprintf("%s_%d", id, uses[id])
			}
			m.ToolCalls[j].ID = current[id]
		}
		m.ToolCallID = cmp.Or(current[m.ToolCallID], m.ToolCallID)
	}
	return req
}

// objectSchema returns a schema as a client must send it: the schema of an object has the member "properties".
func objectSchema(schema json.RawMessage) json.RawMessage {
	if schema == nil {
		schema = json.RawMessage(`{"type":"object"}`)
	}
	if checkObjectSchema(schema) == "" {
		return schema
	}
	return append(bytes.TrimSuffix(schema, []byte("}")), `,"properties":{}}`...)
}

// Received returns what remains of a reply. The API has no finish reason. A response says that it is complete or why it is
// incomplete.
func (responses) Received(reply llm.Reply) llm.Reply {
	if slices.Contains([]string{"stop", "tool_calls", ""}, reply.FinishReason) {
		reply.FinishReason = finishReason(reply)
	}
	return reply
}

type response struct {
	ID         string         `json:"id"`
	Object     string         `json:"object"`
	CreatedAt  int64          `json:"created_at"`
	Status     string         `json:"status"`
	Model      string         `json:"model"`
	Error      *struct{}      `json:"error"`
	Incomplete *reason        `json:"incomplete_details"`
	Output     []any          `json:"output"`
	Store      bool           `json:"store"`
	Usage      *responseUsage `json:"usage"`
}

type reason struct {
	Reason string `json:"reason"`
}

type responseUsage struct {
	InputTokens   int              `json:"input_tokens"`
	InputDetails  inputCounts      `json:"input_tokens_details"`
	OutputTokens  int              `json:"output_tokens"`
	OutputDetails completionCounts `json:"output_tokens_details"`
	TotalTokens   int              `json:"total_tokens"`
}

type inputCounts struct {
	CachedTokens     int `json:"cached_tokens"`
	CacheWriteTokens int `json:"cache_write_tokens"`
}

// responseOf converts a reply into the body of a response. `model` is the model's name in the body if the reply does not name its
// model.
func responseOf(model string, reply llm.Reply) response {
	r := response{
		ID:        "resp_test",
		Object:    "response",
		CreatedAt: time.Now().Unix(),
		Status:    "completed",
		Model:     cmp.Or(reply.Model, model),
		Output:    outputOf(reply.Message),
		Usage: &responseUsage{
			InputTokens:   reply.Usage.InputTokens,
			InputDetails:  inputCounts{reply.Usage.CachedTokens, reply.Usage.CacheWriteTokens},
			OutputTokens:  reply.Usage.OutputTokens,
			OutputDetails: completionCounts{reply.Usage.ReasoningTokens},
			TotalTokens:   reply.Usage.InputTokens + reply.Usage.OutputTokens,
		},
	}
	switch reply.FinishReason {
	case "", "stop", "tool_calls":
	case "length":
		r.Status, r.Incomplete = "incomplete", &reason{"max_output_tokens"}
	default:
		r.Status, r.Incomplete = "incomplete", &reason{reply.FinishReason}
	}
	return r
}
