package openai

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/reagent-dev/reagent/llm"
)

// wordings are texts of providers that tell the class of an error where the status says too little or the
// wrong thing. This file is the only place that knows their words. Rows are
// tried in order; a row matches by a code or type in words, or by a text found
// in the message, letter case aside.
var wordings = []struct {
	class llm.Class
	words []string
	texts []string
}{
	{
		class: llm.ContextTooLong,
		words: []string{
			"context_length_exceeded",   // OpenAI
			"exceed_context_size_error", // llama.cpp
			"string_above_max_length",   // OpenAI
			"too_many_prompt_tokens",    // Perplexity
		},
		texts: []string{
			"maximum context length", // OpenAI, DeepSeek, OpenRouter, vLLM
			"max context length",     // Ollama
			"context window",         // OpenAI
			"context limit",          // Anthropic
			"context size",           // llama.cpp
			"prompt is too long",     // Anthropic and others
			"prompt too long",        // Ollama
			"input is too long",      // Bedrock
			"input token count",      // Gemini
			"length of all messages", // Perplexity
			"total message size",     // Moonshot: a limit in bytes
			"request too large",      // Groq, OpenAI: alone beyond a minute's tokens
		},
	},
	{
		class: llm.Filtered,
		words: []string{"content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation", "data_inspection_failed"},
		texts: []string{"content management policy"}, // Azure
	},
	{
		class: llm.QuotaExceeded,
		// Not the text of OpenAI's message: Gemini uses it for limits that pass.
		words: []string{"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"},
		texts: []string{
			"insufficient balance",      // DeepSeek
			"insufficient credits",      // OpenRouter
			"credit balance is too low", // Anthropic
		},
	},
	{
		class: llm.Unauthorized,
		words: []string{"invalid_api_key", "authentication_error"},
		texts: []string{"api key not valid"}, // Gemini, as a 400
	},
	{
		class: llm.NotFound,
		words: []string{"model_not_found", "DeploymentNotFound", "model_decommissioned"},
	},
	{
		// The model wrote a call that its own server refused: asked again, it
		// writes another one.
		class: llm.BadReply,
		words: []string{"tool_use_failed"}, // Groq, as a 400
	},
}

// types are the general types of error, read when there is no status to go by.
var types = map[string]llm.Class{
	"rate_limit_error":      llm.RateLimited,
	"rate_limit_exceeded":   llm.RateLimited,
	"overloaded_error":      llm.Overloaded,
	"server_error":          llm.ServerError,
	"internal_server_error": llm.ServerError,
	"api_error":             llm.ServerError,
	"upstream_error":        llm.ServerError,
	"permission_error":      llm.Unauthorized,
	"not_found_error":       llm.NotFound,
	"invalid_request_error": llm.InvalidRequest,
}

// classOfText returns the class that the wordings decide; "" when none does.
func classOfText(words []string, message string) llm.Class {
	message = strings.ToLower(message)
	for _, row := range wordings {
		for _, word := range words {
			if slices.ContainsFunc(row.words, func(w string) bool { return strings.EqualFold(w, word) }) {
				return row.class
			}
		}
		if slices.ContainsFunc(row.texts, func(t string) bool { return strings.Contains(message, t) }) {
			return row.class
		}
	}
	return ""
}

// classOfType returns the class of a general type of error; "" when it is none.
func classOfType(words []string) llm.Class {
	for _, word := range words {
		if class, ok := types[strings.ToLower(word)]; ok {
			return class
		}
	}
	return ""
}

// hints say what to do about an error of a class, where a person has to act.
var hints = map[llm.Class]string{
	llm.Unauthorized:  "check the API key",
	llm.NotFound:      "check the fields base_url and model",
	llm.QuotaExceeded: "check the plan and the balance of the account of the API key",
}

// waits finds the wait in messages such as "Please try again in 9m38.016s."
var waits = regexp.MustCompile(`(?i)(?:try again|retry) in ([0-9][0-9hms.]*[hms])`)

// waitInMessage is the wait that a message asks for; 0 when it asks for none.
func waitInMessage(message string) time.Duration {
	found := waits.FindStringSubmatch(message)
	if found == nil {
		return 0
	}
	wait, err := time.ParseDuration(found[1])
	if err != nil {
		return 0
	}
	return wait
}
