package agent

import (
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/internal/canon"
	"github.com/reagent-dev/reagent/llm"
)

// Message is one entry of the transcript. The transcript is only ever appended to.
type Message struct {
	llm.Message
	// Key names what the message came from: the model key of an assistant message, the
	// call's key of a tool message, the client's message ID of a user message.
	Key Key `json:"key,omitempty"`
	// Notice marks an assistant message that this library wrote, to say why a
	// turn ended without the model's own answer.
	Notice bool `json:"notice,omitempty"`
	// Time is the workflow clock in Unix milliseconds. It is never hashed.
	Time int64 `json:"time"`
}

// sent returns the form in which m goes to a model, which is what is hashed.
// Here, in one place, what an endpoint would refuse is put right: no empty tool result, no
// arguments that are not a JSON object, no reasoning sent back to a model that does not want it.
func sent(m llm.Message, reasoning bool) llm.Message {
	if !reasoning {
		m.Reasoning = ""
	}
	if m.Role == llm.Tool && m.Content == "" {
		m.Content = textNoOutput
	}
	bad := func(c llm.ToolCall) bool { return !isObject(c.Arguments) }
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

// replied returns the message that a model's reply becomes in the transcript. Its
// calls get IDs where the provider gave none, or one twice.
func replied(key Key, m llm.Message) llm.Message {
	m.Role = llm.Assistant
	m.ToolCalls = uniqueIDs(key, m.ToolCalls)
	return m
}

// SentReply returns the form in which the reply to the request named by key is sent with later requests,
// with what the model thought or without.
func SentReply(key Key, reply llm.Reply, reasoning bool) llm.Message {
	return sent(replied(key, reply.Message), reasoning)
}

// result returns the message that answers a call.
func result(callID, content string) llm.Message {
	return llm.Message{Role: llm.Tool, Content: content, ToolCallID: callID}
}

// SentResult returns the form in which the result of a call is sent.
func SentResult(callID, content string) llm.Message { return sent(result(callID, content), false) }

// isObject reports whether text is a JSON object with one meaning.
func isObject(text string) bool {
	if !strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{") {
		return false
	}
	_, err := canon.Text([]byte(text))
	return err == nil
}
