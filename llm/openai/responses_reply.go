package openai

import (
	"cmp"
	"strings"

	"github.com/reagent-dev/reagent/internal/finish"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/repair"
)

// reply makes a reply from a response. It corrects the tool calls of the reply. `req` is the request to which the reply belongs, and
// `family` is the family of the opaque data. If the reply is not valid, the error is an [*llm.Error].
func (b responseBody) reply(req llm.Request, family string) (llm.Reply, error) {
	usage := b.Usage.Value
	reply := llm.Reply{
		Message: llm.Message{Role: llm.Assistant, Opaque: opaqueOf(b.Output, family)},
		Model:   string(b.Model),
		Usage: llm.Usage{
			InputTokens:      int(cmp.Or(usage.InputTokens, usage.PromptTokens)),
			OutputTokens:     int(cmp.Or(usage.OutputTokens, usage.CompletionTokens)),
			CachedTokens:     int(usage.InputDetails.Value.CachedTokens),
			CacheWriteTokens: int(usage.InputDetails.Value.CacheWriteTokens),
			ReasoningTokens:  int(usage.OutputDetails.Value.ReasoningTokens),
		}.Bounded(),
	}
	var said, thoughts, refusals []string
	for _, item := range b.Output {
		said, thoughts, refusals = appendText(said, item.said), appendText(thoughts, item.thought), appendText(refusals, item.refusal)
		if item.kind == "function_call" {
			reply.Message.ToolCalls = append(reply.Message.ToolCalls, llm.ToolCall{ID: item.callID, Name: item.name, Arguments: item.arguments})
		}
	}
	reply.Message.Content, reply.Message.Reasoning = strings.Join(said, betweenTexts), strings.Join(thoughts, betweenTexts)
	reply.FinishReason = b.finish(len(reply.Message.ToolCalls) > 0)
	if !b.complete() {
		return reply, &llm.Error{Class: llm.BadReply, Model: reply.Model, FinishReason: reply.FinishReason, Usage: reply.Usage,
			Message: "the reply is not complete (" + reply.FinishReason + ")"}
	}
	reply = repair.Reply(reply, req)
	return reply, checkReply(reply, finishReason(reply.FinishReason), strings.Join(refusals, betweenTexts))
}

func appendText(all []string, text string) []string {
	if text == "" {
		return all
	}
	return append(all, text)
}

// finish returns the finish reason. It uses the values of the chat completions API if one of them has the same meaning. If the
// response is not complete and has no reason, finish returns the status. `calls` says whether the response has function calls.
func (b responseBody) finish(calls bool) string {
	reason := string(b.Incomplete.Value.Reason)
	switch {
	case finish.AtLimit(reason):
		return "length"
	case reason != "":
		return reason
	case !b.ended():
		return string(b.Status)
	case calls:
		return "tool_calls"
	}
	return "stop"
}

// ended reports whether the status says that the response is complete. An absent or unknown status means the same.
func (b responseBody) ended() bool {
	return b.Status != "in_progress" && b.Status != "queued" && b.Status != "incomplete"
}

// complete reports whether the response is complete, has reached the output limit, or has a finish reason that
// [finish.Class] knows.
func (b responseBody) complete() bool {
	reason := b.finish(false)
	return b.ended() || reason == "length" || finish.Class(reason) != ""
}
