package agent

import (
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/internal/canon"
	"github.com/reagent-dev/reagent/internal/finish"
	"github.com/reagent-dev/reagent/llm"
)

// Message is one message of the transcript. The transcript only grows. A message in it never changes.
type Message struct {
	llm.Message
	// Key names the origin of the message.
	//
	//   - For a message of the assistant, it is the key of the model call.
	//   - For a tool message, it is the key of the call.
	//   - For a message of a user, it is the message ID.
	//   - For a message with a late result, it is a key of the kind [KindLate].
	//   - For a notice, it is empty.
	Key Key `json:"key,omitempty"`
	// Result is the kind of the result in a tool message, or in a message with a late result: see [LateResult]. No hash includes it.
	Result ResultKind `json:"result,omitempty"`
	// ResultAt is the index in Content at which this result begins. Before it stands a note for the model. No hash includes it.
	ResultAt int `json:"result_at,omitempty"`
	// Notice reports whether this package wrote the message. There are two kinds of notices. A message of the
	// assistant says why a turn ended without an answer of the model. A message of the user asks the model to correct
	// its answer.
	Notice bool `json:"notice,omitempty"`
	// FinishReason is the provider's finish reason if the reply may not be whole, such as "length" for a reply that reached the output
	// limit. It is empty for any other message. No hash includes it.
	FinishReason string `json:"finish_reason,omitempty"`
	// Model is the provider's name of the model that wrote a message of the assistant; empty for any other message. No hash includes it.
	Model string `json:"model,omitempty"`
	// Spent is what the turn had used when it ended with this answer, with the sub-agents that have ended; zero for any other message, and in
	// a fork. No hash includes it.
	Spent Spending `json:"spent,omitzero"`
	// Decider says who has decided on the call of a tool message; nil if nobody has. No hash includes it.
	Decider *Decider `json:"decider,omitempty"`
	// Child is the key of the sub-agent that the call of a tool message waited for. It is empty if there was none. No hash includes it.
	Child Key `json:"child,omitempty"`
	// Waited are the waits for somebody outside that the call of a tool message has begun: see [Call].Waited. No hash includes them.
	Waited []Waited `json:"waited,omitempty"`
	// Steer reports whether a user's message entered a turn that was running and that nobody had interrupted. No hash includes it.
	Steer bool `json:"steer,omitempty"`
	// Sender is the sender of a user's message; nil for any other message, and if the sender is not known. No hash includes it.
	Sender *Actor `json:"sender,omitempty"`
	// Metadata is what the sender of a user's message knows about it; nil for any other message. No hash includes it.
	Metadata Metadata `json:"metadata,omitempty"`
	// Verdicts are those of guardrails that have not simply let the text through; nil if there are none. No hash includes them.
	Verdicts []GivenVerdict `json:"verdicts,omitempty"`
	// Overrides are those of a user's message: see [QueuedMessage].Overrides. No hash includes them.
	Overrides Overrides `json:"overrides,omitzero"`
	// Time is the time of the message on the workflow clock, in Unix milliseconds. No hash includes it.
	Time int64 `json:"time"`
}

// result returns the result in a tool message, or in a message with a late result.
func (m Message) result() Result {
	return Result{Content: m.Content[min(m.ResultAt, len(m.Content)):], Kind: m.Result}
}

// answers reports whether the message is an answer, or a notice in place of one.
func (m Message) answers() bool { return m.Role == llm.Assistant && len(m.ToolCalls) == 0 }

// fromOutside reports whether the message is one of a user, or of the parent agent.
func (m Message) fromOutside() bool {
	return m.Role == llm.User && m.Key != "" && !m.BringsLateResult()
}

func cutReason(reason string) string {
	if finish.Cut(reason) {
		return reason
	}
	return ""
}

// sent returns the message m in the form in which requests send it. [HashMessages] hashes this form, too.
//
//   - A short text replaces an empty tool result, which an endpoint would refuse.
//   - {} replaces call arguments that are not a JSON object, which an endpoint would refuse, or that parsers may read differently: see
//     [unambiguousObject].
//   - If `reasoning` is false, sent removes the model's reasoning.
func sent(m llm.Message, reasoning bool) llm.Message {
	// Only this function makes such corrections, so that the hash and the request have the same form.
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

// replied returns the reply m in the form in which it enters the transcript. The parameter `key` is the key of the
// model call. In the result, no two tool calls have the same ID: see [uniqueIDs].
func replied(key Key, m llm.Message) llm.Message {
	m.Role = llm.Assistant
	m.ToolCalls = uniqueIDs(key, m.ToolCalls)
	return m
}

// SentReply returns a reply of the model in the form in which later requests send it. The parameter `key` is the key
// of the model call. If `reasoning` is false, the result does not contain the model's reasoning.
func SentReply(key Key, reply llm.Reply, reasoning bool) llm.Message {
	return sent(replied(key, reply.Message), reasoning)
}

// result returns the message that brings the result of a call to the model. The parameter `callID` is the ID of the
// call in the request, not the key of the call.
func result(callID, content string) llm.Message {
	return llm.Message{Role: llm.Tool, Content: content, ToolCallID: callID}
}

// SentResult returns the message that brings the result of a call to the model, in the form in which requests send
// it. The parameter `callID` is the ID of the call in the request, not the key of the call.
func SentResult(callID, content string) llm.Message { return sent(result(callID, content), false) }

// unambiguousObject reports whether `text` is a JSON object that every parser reads in the same way. For example, the
// result is false if an object in the text has two members with the same name.
func unambiguousObject(text string) bool {
	if !strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{") {
		return false
	}
	_, err := canon.Text([]byte(text))
	return err == nil
}
