package openai

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/reagent-dev/reagent/internal/finish"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/internal/endpoint"
	"github.com/reagent-dev/reagent/llm/repair"
)

// reply makes a reply from the completion. It corrects the tool calls of the reply. `req` is the request to which the reply belongs, and
// `family` is the [endpoint.Family] of the endpoint. If the reply is not valid, the error is an [*llm.Error].
func (c completion) reply(req llm.Request, family string) (llm.Reply, error) {
	reply := llm.Reply{Model: string(c.Model), Usage: c.usage()}
	if len(c.Choices) == 0 {
		return llm.Reply{}, &llm.Error{Class: llm.EmptyReply, Model: reply.Model, Usage: reply.Usage,
			Message: "the response has no choices"}
	}
	choice := c.first()
	m, reason := choice.Message, choice.FinishReason.or(choice.Native)
	if reason != unfinished {
		reply.FinishReason = string(reason)
	}
	reply.Message = llm.Message{
		Role: llm.Assistant, Content: string(m.said()), Reasoning: string(m.thought()), ToolCalls: m.calls(family), Opaque: m.opaque(family),
	}
	reply = repair.Reply(reply, req)
	if said := string(m.said()); endpoint.Line(family) == "minimax" && reply.Message.Content != said {
		reply.Message.Opaque = withThoughts(family, said)
	}
	return reply, checkReply(reply, reason, string(m.refused()))
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
func checkReply(reply llm.Reply, reason finishReason, refusal string) error {
	told := llm.Error{Model: reply.Model, FinishReason: reply.FinishReason, Usage: reply.Usage}
	empty := reply.Validate()
	told.Class, told.Message = finish.Problem(string(reason))
	switch {
	case empty != nil && strings.TrimSpace(refusal) != "":
		told.Class, told.Message = llm.Filtered, "the model refused: "+refusal
	case told.Class != "":
	case empty != nil:
		return empty
	case reason == unfinished && len(reply.Message.ToolCalls) == 0:
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
