package openai

import (
	"errors"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/repair"
)

// readReply returns the library's response as a valid reply, or an [*llm.Error]
// that says what it is instead.
func readReply(response openai.ChatCompletionResponse, req llm.Request) (llm.Reply, error) {
	reply := llm.Reply{Model: response.Model, Usage: readUsage(response.Usage)}
	if len(response.Choices) == 0 {
		return llm.Reply{}, &llm.Error{Class: llm.EmptyReply, Model: reply.Model, Usage: reply.Usage,
			Message: "the answer holds no choice"}
	}
	choice := firstChoice(response.Choices)
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
	reply = repair.Reply(reply, req)
	return reply, checkReply(reply, choice.FinishReason, choice.Message.Refusal)
}

// recovered returns the reply that an endpoint refused to read as one: its
// model's call, for the agent to run or to refuse with a reason that the model
// can read. Any other error it returns.
func recovered(err error, req llm.Request) (llm.Reply, error) {
	var unread *unreadCall
	if !errors.As(err, &unread) {
		return llm.Reply{}, err
	}
	calls := repair.Calls(unread.written, req.Tools)
	if calls == nil {
		return llm.Reply{}, err
	}
	return llm.Reply{
		Message:      llm.Message{Role: llm.Assistant, ToolCalls: calls},
		FinishReason: "tool_use_failed",
		Repaired:     []string{"the endpoint refused the model's call: " + shorten(unread.told.Message)},
	}, nil
}

// checkReply reports what makes a well-formed reply no answer. Calls count, and text
// too, under most finish reasons; it is the exceptions that are named here.
// A refusal is the end: asked again, the model refuses again.
func checkReply(reply llm.Reply, reason openai.FinishReason, refusal string) error {
	told := llm.Error{Model: reply.Model, FinishReason: reply.FinishReason, Usage: reply.Usage}
	empty := reply.Validate()
	switch {
	case empty != nil && reason == openai.FinishReasonContentFilter:
		told.Class, told.Message = llm.Filtered, "the provider's filter withheld the answer (finish reason content_filter)"
	case empty != nil && strings.TrimSpace(refusal) != "":
		told.Class, told.Message = llm.Filtered, "the model refused: "+refusal
	case reason == "error":
		told.Class, told.Message = llm.ServerError, "the provider ended the reply early (finish_reason \"error\")"
	case empty != nil:
		return empty
	case reason == openai.FinishReasonNull && len(reply.Message.ToolCalls) == 0:
		told.Class, told.Message = llm.BadReply, "the answer is not finished (finish reason null)"
	default:
		return nil
	}
	return &told
}

// firstChoice is the choice with index 0; choices come in any order.
func firstChoice(choices []openai.ChatCompletionChoice) openai.ChatCompletionChoice {
	for _, choice := range choices {
		if choice.Index == 0 {
			return choice
		}
	}
	return choices[0]
}

func readCalls(wire []openai.ToolCall) []llm.ToolCall {
	var calls []llm.ToolCall
	for _, call := range wire {
		calls = append(calls, llm.ToolCall{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments})
	}
	return calls
}

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
