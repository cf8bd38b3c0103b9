package openai

import (
	openai "github.com/sashabaranov/go-openai"

	"github.com/reagent-dev/reagent/llm"
)

// messages returns the conversation in the library's form. Reasoning is left
// out, since it is for people, or all but that of the turn which goes on.
func messages(conversation []llm.Message, reasoning bool) []openai.ChatCompletionMessage {
	wire := make([]openai.ChatCompletionMessage, 0, len(conversation))
	turn := 0
	for i, message := range conversation {
		if message.Role == llm.User {
			turn = i
		}
	}
	for i, message := range conversation {
		if !reasoning || i < turn || message.Role != llm.Assistant {
			message.Reasoning = ""
		}
		wire = append(wire, openai.ChatCompletionMessage{
			ReasoningContent: message.Reasoning,

			Role:         string(message.Role),
			Content:      content(message),
			MultiContent: parts(message),
			ToolCalls:    toolCalls(message.ToolCalls),
			ToolCallID:   message.ToolCallID,
		})
	}
	return wire
}

// content is the text of a message that is nothing but text; beside parts the
// library takes none.
func content(message llm.Message) string {
	if len(message.Parts) > 0 {
		return ""
	}
	return message.Content
}

// parts are the pieces of a message that is more than text, its text first.
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
