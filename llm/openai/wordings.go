package openai

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/reagent-dev/reagent/llm"
)

// wordings determines the class of an error from the codes and texts that providers send. This table is necessary because the
// HTTP status is often too general or misleading. A row matches an error in two cases: a code or type of the error is one of
// the row's `words`, or the message of the error contains one of the row's `texts`. Upper and lower case do not matter, but
// the texts in the table must be in lower case. The first row that matches determines the class.
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
		// The text of OpenAI's message is not in this row, because Gemini uses the same text for temporary limits.
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
		// The model wrote a call that its own server refused. If the request is sent again, the model writes another call.
		class: llm.BadReply,
		words: []string{"tool_use_failed"}, // Groq, as a 400
	},
}

// types maps general error types to classes. It is used for errors that match no row of [wordings] and have no error status,
// such as many errors within a stream. For an error with a 5xx status, types only decides whether the class is
// [llm.Overloaded].
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

// classOfText returns the class of the first row of [wordings] that matches; "" if there is none.
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

// classOfType returns the class of the first word that is in the table [types]; "" if there is none.
func classOfType(words []string) llm.Class {
	for _, word := range words {
		if class, ok := types[strings.ToLower(word)]; ok {
			return class
		}
	}
	return ""
}

// hints has a text for some classes of errors. The text says what a person can do about the error.
var hints = map[llm.Class]string{
	llm.Unauthorized:  "check the API key",
	llm.NotFound:      "check the fields base_url and model",
	llm.QuotaExceeded: "check the plan and the balance of the account of the API key",
}

// waits finds the wait time in a message such as "Please try again in 9m38.016s." or "Retry after 26 seconds".
var waits = regexp.MustCompile(`(?i)\b(?:again|retry|wait)(?: in| after| for)?:? (?:(?:about|approximately|at least) )?(` + amounts + `)\b`)

// waitInMessage returns the wait time in a message; 0 if there is none.
func waitInMessage(message string) time.Duration {
	found := waits.FindStringSubmatch(message)
	if found == nil {
		return 0
	}
	wait, _ := duration(found[1])
	return wait
}
