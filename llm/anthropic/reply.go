package anthropic

import (
	"strings"

	"github.com/reagent-dev/reagent/internal/finish"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/repair"
)

// readReply makes a reply from the answer of the endpoint. It corrects the tool calls of the reply. `req` is the request to which the
// reply belongs. If the reply is not valid, the error is an [*llm.Error].
func readReply(a answer, req llm.Request, family string) (llm.Reply, error) {
	reply := llm.Reply{
		Model: a.model, Usage: a.usage.usage(), FinishReason: a.reason(),
		Message: llm.Message{Role: llm.Assistant, Opaque: layoutOf(a.pieces, family)},
	}
	m := &reply.Message
	for _, p := range a.pieces {
		switch p.kind {
		case "text":
			m.Content += p.text
		case "thinking":
			m.Reasoning += between(m.Reasoning, p.text) + p.text
		case "tool_use":
			m.ToolCalls = append(m.ToolCalls, llm.ToolCall{ID: p.id, Name: p.name, Arguments: p.arguments()})
		}
	}
	reply = repair.Reply(reply, req)
	return reply, a.check(reply)
}

// between returns the separator between two parts of the reasoning; "" if one of the parts is empty.
func between(before, after string) string {
	if before == "" || after == "" {
		return ""
	}
	return "\n\n"
}

// arguments returns the arguments of a tool call. An empty input becomes an empty object.
func (p piece) arguments() string {
	if strings.TrimSpace(p.input) == "" {
		return "{}"
	}
	return p.input
}

// reason returns the finish reason; "" if there is none.
func (e ending) reason() string {
	if e.StopReason == nil {
		return ""
	}
	return string(*e.StopReason)
}

// check returns an [*llm.Error] if the client must not return the reply. This applies to an empty reply, and to a reply whose finish
// reason says that it is incomplete, for example "refusal".
func (a answer) check(reply llm.Reply) error {
	told := llm.Error{Model: reply.Model, FinishReason: reply.FinishReason, Usage: reply.Usage}
	told.Class, told.Message = finish.Problem(reply.FinishReason)
	switch {
	case reply.FinishReason == "pause_turn":
		// The API pauses only if it runs tools itself, and the client cannot express the results of such tools.
		told.Class, told.Message = llm.InvalidRequest, "the model paused to wait for a tool of the server (finish reason pause_turn); "+
			"remove the tools of the server from the extra parameters"
	case reply.FinishReason == "compaction":
		told.Class, told.Message = llm.InvalidRequest, "the API paused after it had summarised the conversation (finish reason compaction); "+
			"remove pause_after_compaction from the extra parameters"
	case told.Class != "" && a.StopDetails.Value.Explanation != "":
		told.Message += ": " + string(a.StopDetails.Value.Explanation)
	case told.Class != "":
	default:
		return reply.Validate()
	}
	return &told
}
