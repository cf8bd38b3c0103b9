// Package finish says what the finish reasons of replies mean. Each provider has words of its own for them.
package finish

import (
	"fmt"
	"strings"

	"github.com/reagent-dev/reagent/internal/clip"
	"github.com/reagent-dev/reagent/llm"
)

// meaning is what a finish reason says about a reply. The zero meaning is that the reply is whole.
type meaning struct {
	// class is the class of the error if the reply cannot be used.
	class llm.Class
	// limited says that the reply reached a limit of its length.
	limited bool
	// paused says that the provider has not ended the reply.
	paused bool
}

// meanings has the finish reasons of replies that may not be whole or cannot be used, in lower case. With any other reason, a reply is
// whole.
var meanings = map[string]meaning{
	"length":            {limited: true}, // OpenAI
	"max_tokens":        {limited: true}, // Anthropic
	"max_output_tokens": {limited: true}, // OpenAI, Responses API
	"model_length":      {limited: true}, // Mistral
	"incomplete":        {paused: true},  // OpenAI, Responses API
	"pause_turn":        {paused: true},  // Anthropic

	"content_filter":          {class: llm.Filtered}, // OpenAI
	"content_filtered":        {class: llm.Filtered}, // Bedrock
	"guardrail_intervened":    {class: llm.Filtered}, // Bedrock
	"refusal":                 {class: llm.Filtered}, // Anthropic
	"sensitive":               {class: llm.Filtered}, // Zhipu
	"safety":                  {class: llm.Filtered}, // Gemini, like the following ones up to the empty line
	"prohibited":              {class: llm.Filtered},
	"prohibited_content":      {class: llm.Filtered},
	"blocklist":               {class: llm.Filtered},
	"recitation":              {class: llm.Filtered},
	"spii":                    {class: llm.Filtered},
	"malformed_function_call": {class: llm.BadReply},
	"malformed_response":      {class: llm.BadReply},
	"unexpected_tool_call":    {class: llm.BadReply},
	"too_many_tool_calls":     {class: llm.BadReply},

	"malformed_model_output": {class: llm.BadReply}, // Bedrock
	"malformed_tool_use":     {class: llm.BadReply}, // Bedrock

	"model_context_window_exceeded": {class: llm.ContextTooLong}, // Anthropic, Zhipu

	"error":                        {class: llm.ServerError}, // OpenRouter, Mistral
	"network_error":                {class: llm.ServerError}, // Zhipu
	"abort":                        {class: llm.ServerError}, // vLLM, SGLang
	"insufficient_system_resource": {class: llm.Overloaded},  // DeepSeek
}

// problems says, for each class in [meanings], why the reply cannot be used.
var problems = map[llm.Class]string{
	llm.Filtered:       "the provider's content filter withheld or cut the reply",
	llm.BadReply:       "the endpoint could not read the model's tool call",
	llm.ContextTooLong: "the context window was full before the reply was complete",
	llm.ServerError:    "the provider ended the reply early",
	llm.Overloaded:     "the provider ended the reply early",
}

// maxReason is the number of bytes of a finish reason that are read and shown.
const maxReason = 200

func of(reason string) meaning { return meanings[strings.ToLower(reason)] }

// AtLimit reports whether the reply reached a limit of its length, such as the model's output limit, so that its end is missing.
func AtLimit(reason string) bool { return of(reason).limited }

// Cut reports whether a reply that can be used may not be whole, because it reached a limit or the provider paused it.
func Cut(reason string) bool { return of(reason).limited || of(reason).paused }

// Class returns the class of the error for a reply that cannot be used; "" for any other reply. Gemini may send several words, such as
// "function_call_filter: MALFORMED_FUNCTION_CALL". The first word with a class then counts.
func Class(reason string) llm.Class {
	for _, word := range strings.FieldsFunc(clip.Text(reason, maxReason), func(r rune) bool { return r == ':' || r == ' ' }) {
		if class := of(word).class; class != "" {
			return class
		}
	}
	return ""
}

// Problem returns the class and the message of the error for a reply that cannot be used; "" and "" for any other reply.
func Problem(reason string) (class llm.Class, message string) {
	if class = Class(reason); class != "" {
		message = fmt.Sprintf("%s (finish reason %s)", problems[class], clip.Text(reason, maxReason))
	}
	return class, message
}
