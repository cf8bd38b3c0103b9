// Package llmtest helps to test agents without a model and without money: a
// scripted model, as an [llm.Client] and as an HTTP endpoint that speaks
// OpenAI's format, and one suite of tests that every client should pass.
//
//	model := llmtest.Script(
//		llmtest.Call(llmtest.ToolCall("1", "get_weather", `{"city":"Paris"}`)),
//		llmtest.Say("Sunny."),
//	)
//	server := llmtest.Serve(model) // server.URL is the base URL to configure
//	defer server.Close()
//
// It is for tests only; nothing that is shipped imports it.
package llmtest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/reagent-dev/reagent/llm"
)

// Model is a scripted [llm.Client] that keeps what it was asked. It is safe for
// concurrent use.
type Model struct {
	answer func(context.Context, llm.Request) (llm.Reply, error)

	mu       sync.Mutex
	requests []llm.Request
}

var _ llm.Client = (*Model)(nil)

// Script returns a model that answers with replies, in order. A reply is chosen
// by the number of assistant messages in the request: a request that is asked
// again gets the same reply again, and any number of conversations may go on at
// once. Beyond the last reply the answer is an [*llm.Error] of class
// [llm.InvalidRequest]; an empty reply is one of class [llm.EmptyReply].
func Script(replies ...llm.Reply) *Model {
	return Func(func(_ context.Context, req llm.Request) (llm.Reply, error) {
		turn := 0
		for _, message := range req.Messages {
			if message.Role == llm.Assistant {
				turn++
			}
		}
		if turn >= len(replies) {
			return llm.Reply{}, &llm.Error{Class: llm.InvalidRequest, Message: fmt.Sprintf(
				"the script has %d replies, and the request asks for number %d", len(replies), turn+1)}
		}
		return replies[turn], nil
	})
}

// Func returns a model that answers with f, which is called concurrently and
// must not modify the request.
func Func(f func(context.Context, llm.Request) (llm.Reply, error)) *Model {
	return &Model{answer: f}
}

// Complete answers. What the reply leaves open is filled in: the role, the
// finish reason, the candidate's name and model.
func (m *Model) Complete(ctx context.Context, req llm.Request) (llm.Reply, error) {
	m.mu.Lock()
	m.requests = append(m.requests, clone(req))
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

// Requests returns what was asked so far, in the order of arrival. The copies
// are the model's; they must not be modified.
func (m *Model) Requests() []llm.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

// Say returns a reply of text.
func Say(text string) llm.Reply {
	return llm.Reply{Message: llm.Message{Role: llm.Assistant, Content: text}, FinishReason: "stop"}
}

// Call returns a reply of tool calls.
func Call(calls ...llm.ToolCall) llm.Reply {
	return llm.Reply{Message: llm.Message{Role: llm.Assistant, ToolCalls: calls}, FinishReason: "tool_calls"}
}

// ToolCall returns one call, with arguments exactly as given.
func ToolCall(id, name, arguments string) llm.ToolCall {
	return llm.ToolCall{ID: id, Name: name, Arguments: arguments}
}

func finishReason(reply llm.Reply) string {
	if len(reply.Message.ToolCalls) > 0 {
		return "tool_calls"
	}
	return "stop"
}

// clone copies what a caller may go on to modify.
func clone(req llm.Request) llm.Request {
	req.Candidates = slices.Clone(req.Candidates)
	req.Tools = slices.Clone(req.Tools)
	req.Params.Extra = maps.Clone(req.Params.Extra)
	req.Messages = slices.Clone(req.Messages)
	for i, message := range req.Messages {
		req.Messages[i].Parts = slices.Clone(message.Parts)
		req.Messages[i].ToolCalls = slices.Clone(message.ToolCalls)
	}
	return req
}
