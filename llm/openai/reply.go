package openai

import (
	"encoding/json"
	"errors"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/internal/endpoint"
	"github.com/reagent-dev/reagent/llm/repair"
)

// readReply makes a reply from a response that go-openai has decoded. It corrects the tool calls of the reply. `req` is the
// request to which the reply belongs. `read` is the same response with the data of the provider, and `family` is the [endpoint.Family] of
// the endpoint. If the reply is not valid, the error is an [*llm.Error].
func readReply(response openai.ChatCompletionResponse, req llm.Request, read completion, family string) (llm.Reply, error) {
	reply := llm.Reply{Model: response.Model, Usage: readUsage(response.Usage)}
	reply.Usage.CacheWriteTokens = int(read.Usage.PromptDetails.CacheWriteTokens)
	reply.Usage = reply.Usage.Bounded()
	if len(response.Choices) == 0 {
		return llm.Reply{}, &llm.Error{Class: llm.EmptyReply, Model: reply.Model, Usage: reply.Usage,
			Message: "the response has no choices"}
	}
	choice, at := firstChoice(response.Choices)
	reply.FinishReason = string(choice.FinishReason)
	if choice.FinishReason == openai.FinishReasonNull {
		reply.FinishReason = ""
	}
	reply.Message = llm.Message{
		Role:      llm.Assistant,
		Content:   choice.Message.Content,
		ToolCalls: readCalls(choice.Message.ToolCalls),
		Reasoning: choice.Message.ReasoningContent,
	}
	whole := read.Choices[at].Message
	reply.Message.Opaque = whole.opaque(family)
	for i := range reply.Message.ToolCalls {
		reply.Message.ToolCalls[i].Opaque = whole.ToolCalls[i].opaque(family)
	}
	reply = repair.Reply(reply, req)
	if said := choice.Message.Content; endpoint.Line(family) == "minimax" && reply.Message.Content != said {
		reply.Message.Opaque = withThoughts(family, said)
	}
	return reply, checkReply(reply, choice.FinishReason, choice.Message.Refusal)
}

// recovered tries to make a reply from the error of a request. This is possible if the error is an [*endpoint.UnreadCall], and its text
// consists of tool calls that [repair.Calls] can read. In this case, recovered returns a reply with these calls. The agent
// then runs each call, or refuses the call with an error result that the model can read. In all other cases, recovered returns
// `err`.
func recovered(err error, req llm.Request) (llm.Reply, error) {
	var unread *endpoint.UnreadCall
	if !errors.As(err, &unread) {
		return llm.Reply{}, err
	}
	calls := repair.Calls(unread.Written, req.Tools)
	if calls == nil {
		return llm.Reply{}, err
	}
	return llm.Reply{
		Message:      llm.Message{Role: llm.Assistant, ToolCalls: calls},
		FinishReason: "tool_use_failed",
		Repaired:     []string{"the endpoint refused the model's call: " + endpoint.Shorten(unread.Told.Message)},
	}, nil
}

// checkReply returns an [*llm.Error] if the client must not return the reply. This applies to three kinds of replies:
//   - an empty reply
//   - a reply whose finish reason says that it is incomplete, for example "content_filter"
//   - a reply without tool calls whose finish reason is null
//
// `reason` is the finish reason. `refusal` is the text with which the model refused to answer; it is usually empty. If an
// empty reply has such a text, the error is not retryable, because the model would refuse again.
func checkReply(reply llm.Reply, reason openai.FinishReason, refusal string) error {
	told := llm.Error{Model: reply.Model, FinishReason: reply.FinishReason, Usage: reply.Usage}
	empty := reply.Validate()
	told.Class, told.Message = endpoint.Unfinished(string(reason))
	switch {
	case empty != nil && strings.TrimSpace(refusal) != "":
		told.Class, told.Message = llm.Filtered, "the model refused: "+refusal
	case told.Class != "":
	case empty != nil:
		return empty
	case reason == openai.FinishReasonNull && len(reply.Message.ToolCalls) == 0:
		told.Class, told.Message = llm.BadReply, "the reply is not complete (finish reason null)"
	default:
		return nil
	}
	return &told
}

// withThoughts returns opaque data with `said`, the original text of a MiniMax reply, which contains the reasoning in tags. MiniMax
// needs this text back (MiniMax: "Interleaved thinking").
func withThoughts(family, said string) llm.Opaque {
	encoded, _ := endpoint.Encode(said) // cannot fail
	return opaque(family, map[string]json.RawMessage{"content": encoded})
}

// firstChoice returns the choice with index 0, and its position. Endpoints may send the choices in any order. If no choice has
// index 0, firstChoice returns the first element.
func firstChoice(choices []openai.ChatCompletionChoice) (choice openai.ChatCompletionChoice, at int) {
	for at, choice := range choices {
		if choice.Index == 0 {
			return choice, at
		}
	}
	return choices[0], 0
}

// readCalls converts go-openai's tool calls into the type of package llm.
func readCalls(wire []openai.ToolCall) []llm.ToolCall {
	var calls []llm.ToolCall
	for _, call := range wire {
		calls = append(calls, llm.ToolCall{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments})
	}
	return calls
}

// readUsage converts go-openai's usage into the type of package llm.
func readUsage(wire openai.Usage) llm.Usage {
	usage := llm.Usage{InputTokens: wire.PromptTokens, OutputTokens: wire.CompletionTokens}
	if wire.PromptTokensDetails != nil {
		usage.CachedTokens = wire.PromptTokensDetails.CachedTokens
	}
	if wire.CompletionTokensDetails != nil {
		usage.ReasoningTokens = wire.CompletionTokensDetails.ReasoningTokens
	}
	return usage
}
