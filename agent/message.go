package agent

import (
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/internal/canon"
	"github.com/reagent-dev/reagent/llm"
)

// Message is one entry of the transcript. The transcript only grows: an entry is never changed.
type Message struct {
	llm.Message
	// Key names the origin of the message. For a message of the assistant, it is the key of the model call. For a tool
	// message, it is the key of the tool call. For a message of a user, it is the message ID. It is empty for a notice.
	Key Key `json:"key,omitempty"`
	// Notice marks a message that package agent wrote. It is an assistant message that says why a turn ended without an
	// answer of the model, or a user message that asks the model to correct its answer.
	Notice bool `json:"notice,omitempty"`
	// Time is the time of the message on the workflow clock, in Unix milliseconds. No hash includes it.
	Time int64 `json:"time"`
}

// sent returns the message m in the form in which requests send it. The transcript hash is a hash of this form, too. An endpoint
// would refuse an empty tool result, so sent replaces it with a short text. An endpoint would also refuse call arguments that are
// not a JSON object, so sent replaces them with {}. It removes the model's reasoning, except if requests are to include it
// (reasoning).
func sent(m llm.Message, reasoning bool) llm.Message {
	// No other function makes such corrections.
	if !reasoning {
		m.Reasoning = ""
	}
	if m.Role == llm.Tool && m.Content == "" {
		m.Content = textNoOutput
	}
	bad := func(c llm.ToolCall) bool { return !unambiguousObject(c.Arguments) }
	if slices.ContainsFunc(m.ToolCalls, bad) {
		m.ToolCalls = slices.Clone(m.ToolCalls)
		for i, call := range m.ToolCalls {
			if bad(call) {
				m.ToolCalls[i].Arguments = "{}"
			}
		}
	}
	return m
}

// replied returns m, the reply to the model call with the given key, in the form in which it enters the transcript. If a tool
// call in the reply has no ID, or the ID of an earlier tool call in the reply, it gets a new ID.
func replied(key Key, m llm.Message) llm.Message {
	m.Role = llm.Assistant
	m.ToolCalls = uniqueIDs(key, m.ToolCalls)
	return m
}

// SentReply returns the reply to the model call with the given key, in the form in which later requests send it. The caller says
// whether requests include the model's reasoning (reasoning).
func SentReply(key Key, reply llm.Reply, reasoning bool) llm.Message {
	return sent(replied(key, reply.Message), reasoning)
}

// result returns the message that brings the result of a tool call to the model. callID is the ID of the call in the request, not
// its key.
func result(callID, content string) llm.Message {
	return llm.Message{Role: llm.Tool, Content: content, ToolCallID: callID}
}

// SentResult returns the message that brings the result of a tool call to the model, in the form in which requests send it.
// callID is the ID of the call in the request, not its key.
func SentResult(callID, content string) llm.Message { return sent(result(callID, content), false) }

// unambiguousObject reports whether text is a JSON object that every parser reads in the same way. For example, it returns false
// if an object in the text has two members with the same name.
func unambiguousObject(text string) bool {
	if !strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{") {
		return false
	}
	_, err := canon.Text([]byte(text))
	return err == nil
}
