// Package llmtest helps to test agents without a real model. It has a scripted [Model], which can be used as an [llm.Client], or
// through an HTTP server with the APIs of OpenAI and Anthropic. A script is Go code or a text: see [Script] and [ParseScript]. [Exercise]
// runs the tests that every [llm.Client] should pass.
//
//	model := llmtest.Script(
//		llmtest.Call(llmtest.ToolCall("1", "get_weather", `{"city":"Paris"}`)),
//		llmtest.Say("Sunny."),
//	)
//	server := llmtest.Serve(model) // server.URL is the base URL to configure
//	defer server.Close()
//
// Use the package only for tests, demonstrations and benchmarks.
package llmtest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/llm"
)

// Model is an [llm.Client] for tests. A script or a function makes its replies. It records its requests. A Model is safe for
// concurrent use.
type Model struct {
	answer func(context.Context, llm.Request) (llm.Reply, error)

	mu       sync.Mutex
	requests []llm.Request
}

var _ llm.Client = (*Model)(nil)

// Script returns a model that returns the given replies in order. The number of assistant messages in a request selects the reply: a
// request without assistant messages gets the first reply. Therefore the same request always gets the same reply, and several
// conversations can use the model at the same time. If there is no reply left for a request, the model returns an [*llm.Error] of class
// [llm.InvalidRequest].
func Script(replies ...llm.Reply) *Model {
	return Func(func(_ context.Context, req llm.Request) (llm.Reply, error) {
		turn, err := turnOf(req, len(replies))
		if err != nil {
			return llm.Reply{}, err
		}
		return replies[turn], nil
	})
}

// Func returns a model that calls `f` for each request. The function must be safe for concurrent use and must not modify the
// request.
func Func(f func(context.Context, llm.Request) (llm.Reply, error)) *Model {
	return &Model{answer: f}
}

// Complete implements [llm.Client]. It records the request and returns the reply of the function or script, after these changes:
//   - The role of the reply is always assistant.
//   - If the reply has no finish reason, Complete sets it to "tool_calls" or "stop".
//   - If the reply does not name a candidate or a model, Complete takes the name from the first candidate of the request.
//
// If `ctx` has ended, Complete returns an error that wraps that of `ctx`. It returns an error of the function unchanged. For an empty
// reply, it returns an error of class [llm.EmptyReply].
func (m *Model) Complete(ctx context.Context, req llm.Request) (llm.Reply, error) {
	m.mu.Lock()
	m.requests = append(m.requests, standin.Copy(req))
	m.mu.Unlock()

	if err := ctx.Err(); err != nil {
		return llm.Reply{}, fmt.Errorf("scripted model: %w", err)
	}
	reply, err := m.answer(ctx, req)
	if err != nil {
		return llm.Reply{}, err
	}
	reply.Message.Role = llm.Assistant
	reply.FinishReason = cmp.Or(reply.FinishReason, finishReason(reply))
	if len(req.Candidates) > 0 {
		reply.Candidate = cmp.Or(reply.Candidate, req.Candidates[0].Name)
		reply.Model = cmp.Or(reply.Model, req.Candidates[0].Model)
	}
	if err := reply.Validate(); err != nil {
		return llm.Reply{}, err
	}
	return reply, nil
}

// Requests returns copies of the requests so far, in the order of arrival. The caller must not modify these copies, because
// later calls of Requests return them again.
func (m *Model) Requests() []llm.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

// Say returns a reply with the given text and the finish reason "stop".
func Say(text string) llm.Reply {
	return llm.Reply{Message: llm.Message{Role: llm.Assistant, Content: text}, FinishReason: "stop"}
}

// Call returns a reply with the given tool calls and the finish reason "tool_calls".
func Call(calls ...llm.ToolCall) llm.Reply {
	return llm.Reply{Message: llm.Message{Role: llm.Assistant, ToolCalls: calls}, FinishReason: "tool_calls"}
}

// ToolCall returns a tool call. It does not check or change the arguments.
func ToolCall(id, name, arguments string) llm.ToolCall {
	return llm.ToolCall{ID: id, Name: name, Arguments: arguments}
}

// finishReason returns OpenAI's finish reason for a complete reply: "tool_calls" if the reply has tool calls, else "stop".
func finishReason(reply llm.Reply) string {
	if len(reply.Message.ToolCalls) > 0 {
		return "tool_calls"
	}
	return "stop"
}
