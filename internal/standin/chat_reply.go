package standin

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/reagent-dev/reagent/llm"
)

type completion struct {
	ID      string      `json:"id"`
	Object  string      `json:"object"`
	Created int64       `json:"created"`
	Model   string      `json:"model"`
	Choices []choice    `json:"choices"`
	Usage   usageCounts `json:"usage"`
}

type choice struct {
	Index        int    `json:"index"`
	Message      spoken `json:"message"`
	FinishReason string `json:"finish_reason"`
}

// spoken is an assistant message in a response.
type spoken struct {
	Role string `json:"role"`
	// Content is the text; nil if the message has no text. In JSON, nil becomes null.
	Content   *string      `json:"content"`
	Refusal   *string      `json:"refusal"`
	Reasoning string       `json:"reasoning_content,omitempty"`
	Thought   string       `json:"reasoning,omitempty"` // the reasoning in the member that OpenRouter uses
	ToolCalls []spokenCall `json:"tool_calls,omitempty"`

	more  map[string]json.RawMessage // further members
	whole bool                       // in a stream, each call comes in one event, without an index
}

// spokenCall is a tool call in a response. In a stream, it is only one part of a tool call.
type spokenCall struct {
	// Index says to which call of a stream this part belongs; nil if the response is not streamed.
	Index    *int           `json:"index,omitempty"`
	ID       string         `json:"id,omitempty"`
	Type     string         `json:"type,omitempty"`
	Function spokenFunction `json:"function"`

	more map[string]json.RawMessage // further members
}

type spokenFunction struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

type usageCounts struct {
	PromptTokens     int              `json:"prompt_tokens"`
	CompletionTokens int              `json:"completion_tokens"`
	TotalTokens      int              `json:"total_tokens"`
	CachedTokens     *int             `json:"cached_tokens,omitempty"` // the cached tokens in the member that Kimi uses
	Prompt           *promptCounts    `json:"prompt_tokens_details,omitempty"`
	Completion       completionCounts `json:"completion_tokens_details"`
}

type promptCounts struct {
	CachedTokens int `json:"cached_tokens"`
}

type completionCounts struct {
	ReasoningTokens int `json:"reasoning_tokens"`
}

type modelList struct {
	Object string      `json:"object"`
	Data   []modelInfo `json:"data"`
}

type modelInfo struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

// finishReason returns OpenAI's finish reason for a complete reply: "tool_calls" if the reply has tool calls, else "stop".
func finishReason(reply llm.Reply) string {
	if len(reply.Message.ToolCalls) > 0 {
		return "tool_calls"
	}
	return "stop"
}

// completionOf converts a reply into the body of a response. `model` is the model's name in the body if the reply does not
// name its model.
func completionOf(model string, reply llm.Reply) completion {
	said := spoken{Role: "assistant", Reasoning: reply.Message.Reasoning, more: members(reply.Message.Opaque.Data)}
	if reply.Message.Content != "" {
		said.Content = &reply.Message.Content
	}
	for _, call := range reply.Message.ToolCalls {
		said.ToolCalls = append(said.ToolCalls, spokenCall{
			ID:       call.ID,
			Type:     "function",
			Function: spokenFunction{Name: call.Name, Arguments: call.Arguments},
			more:     members(call.Opaque.Data),
		})
	}
	return completion{
		ID:      "chatcmpl-test",
		Object:  "chat.completion",
		Created: time.Now().Unix(),
		Model:   cmp.Or(reply.Model, model),
		Choices: []choice{{Message: said, FinishReason: cmp.Or(reply.FinishReason, finishReason(reply))}},
		Usage: usageCounts{
			PromptTokens:     reply.Usage.InputTokens,
			CompletionTokens: reply.Usage.OutputTokens,
			TotalTokens:      reply.Usage.InputTokens + reply.Usage.OutputTokens,
			Prompt:           &promptCounts{reply.Usage.CachedTokens},
			Completion:       completionCounts{reply.Usage.ReasoningTokens},
		},
	}
}
