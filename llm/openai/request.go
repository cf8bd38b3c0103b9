package openai

import (
	openai "github.com/sashabaranov/go-openai"

	"github.com/reagent-dev/reagent/llm"
)

// messages converts the conversation into go-openai's types.
func messages(conversation []llm.Message) []openai.ChatCompletionMessage {
	wire := make([]openai.ChatCompletionMessage, 0, len(conversation))
	for _, message := range conversation {
		wire = append(wire, openai.ChatCompletionMessage{
			Role:         string(message.Role),
			Content:      content(message),
			MultiContent: parts(message),
			ToolCalls:    toolCalls(message.ToolCalls),
			ToolCallID:   message.ToolCallID,
		})
	}
	return wire
}

// content returns the text of a message without parts. For a message with parts, it returns "", because go-openai does not
// accept a message with both a text and parts. The text of such a message is the first part that [parts] returns.
func content(message llm.Message) string {
	if len(message.Parts) > 0 {
		return ""
	}
	return message.Content
}

// parts returns the parts of a message, with its text as the first part. It returns nil for a message without parts.
func parts(message llm.Message) []openai.ChatMessagePart {
	if len(message.Parts) == 0 {
		return nil
	}
	var wire []openai.ChatMessagePart
	if message.Content != "" {
		wire = append(wire, openai.ChatMessagePart{Type: openai.ChatMessagePartTypeText, Text: message.Content})
	}
	for _, part := range message.Parts {
		if part.Type == "image" {
			wire = append(wire, openai.ChatMessagePart{
				Type:     openai.ChatMessagePartTypeImageURL,
				ImageURL: &openai.ChatMessageImageURL{URL: part.URL},
			})
			continue
		}
		wire = append(wire, openai.ChatMessagePart{Type: openai.ChatMessagePartType(part.Type), Text: part.Text})
	}
	return wire
}

// toolCalls converts tool calls into go-openai's type.
func toolCalls(calls []llm.ToolCall) []openai.ToolCall {
	var wire []openai.ToolCall
	for _, call := range calls {
		wire = append(wire, openai.ToolCall{
			ID:       call.ID,
			Type:     openai.ToolTypeFunction,
			Function: openai.FunctionCall{Name: call.Name, Arguments: call.Arguments},
		})
	}
	return wire
}
