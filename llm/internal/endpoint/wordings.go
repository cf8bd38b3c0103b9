package endpoint

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reagent-dev/reagent/llm"
)

// wordings determines the class of an error from the codes and texts that providers send. This table is necessary because the
// HTTP status is often too general or misleading. A row matches an error in two cases: a code or type of the error is one of
// the row's `words`, or the message of the error contains one of the row's `texts`. In a text, * stands for any characters.
// Upper and lower case do not matter, but the texts in the table must be in lower case. The first row that matches determines
// the class.
var wordings = []struct {
	class llm.Class
	words []string
	texts []string
}{
	// This row comes first, because its messages also match the row of ContextTooLong.
	{
		class: llm.ServerError,
		texts: []string{"failed to decode, try again", "free space in the kv cache"}, // llama.cpp: its shared cache is full for now
	},
	{
		class: llm.ContextTooLong,
		words: []string{
			"context_length_exceeded",   // OpenAI
			"exceed_context_size_error", // llama.cpp
			"too_many_prompt_tokens",    // Perplexity
			"request_too_large",         // Anthropic
			"model_context_window_exceeded",
			"1261", // Zhipu
		},
		texts: []string{
			"context length",                               // OpenAI, DeepSeek, OpenRouter, vLLM, SGLang, Ollama, LM Studio
			"context window",                               // OpenAI
			"contextwindowexceeded",                        // LiteLLM
			"context limit",                                // Anthropic
			"context size",                                 // llama.cpp
			"prompt is too long",                           // Anthropic and others
			"prompt too long",                              // Ollama
			"prompt exceeds max length",                    // Zhipu
			"maximum prompt length",                        // xAI
			"maximum model length",                         // vLLM
			"maximum allowed input length",                 // Poolside
			"max_seq_len",                                  // SiliconFlow
			"prompt token count*exceeds the limit",         // GitHub Copilot
			"exceeded model token limit",                   // Kimi
			"input is too long",                            // Bedrock
			"input token count",                            // Gemini
			"input tokens exceed",                          // Nova, OpenAI
			"input length*exceed",                          // SGLang
			"range of input length",                        // DashScope
			"`inputs` tokens + `max_new_tokens` must be",   // TGI, Together
			"`inputs` must have less than",                 // TGI
			"too many tokens: ",                            // Cohere
			"reduce the length of",                         // Groq
			"length of all messages",                       // Perplexity
			"total message size",                           // Moonshot: a limit in bytes
			"request too large",                            // Groq, OpenAI: one request exceeds the tokens per minute
			"invalid 'input[*].content*string too long",    // OpenAI
			"invalid 'messages[*].content*string too long", // OpenAI; a long string in another field does not fill the context window
		},
	},
	{
		class: llm.Filtered,
		words: []string{
			"content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation", "data_inspection_failed",
			"1301",                             // Zhipu
			"base_resp 1026", "base_resp 1027", // MiniMax: in the request, in the reply
			"cyber_policy", "biological_risk", // OpenAI
		},
		texts: []string{
			"content management policy",         // Azure
			"content filtering policy",          // Anthropic
			"content violates usage guidelines", // xAI
		},
	},
	{
		// DashScope uses the words of OpenAI's permanent error for limits per minute or per hour.
		class: llm.RateLimited,
		words: []string{"Throttling", "Throttling.RateQuota", "Throttling.AllocationQuota", "limit_requests"},
		texts: []string{
			"exceeded your current quota*aliyun.com", "exceeded your current quota*alibabacloud.com",
			"allocated quota exceeded", // DashScope: tokens per minute, with the code insufficient_quota
		},
	},
	{
		class: llm.QuotaExceeded,
		// The text of OpenAI's message is not in this row, because Gemini uses the same text for temporary limits.
		words: []string{
			"insufficient_quota", "billing_hard_limit_reached", "billing_not_active",
			"exceeded_current_quota_error", // Kimi
			"Arrearage",                    // DashScope
			"AllocationQuota.FreeTierOnly", // DashScope
			"1113",                         // Zhipu
			"base_resp 1008",               // MiniMax
			"billing_error",                // Anthropic
		},
		texts: []string{
			"specified api usage limits", // Anthropic
			"insufficient balance",       // DeepSeek
			"insufficient credits",       // OpenRouter
			"credit balance is too low",  // Anthropic
			"used all available credits", // xAI
			"monthly included credits",   // Hugging Face
		},
	},
	{
		class: llm.RateLimited,
		words: []string{
			"base_resp 1002", "base_resp 1039", "base_resp 1041", "base_resp 2045", "base_resp 2056", // MiniMax
			"ThrottlingException", // Bedrock
		},
		// Bedrock, as a 400, also in the words of a proxy
		texts: []string{"too many requests, please wait", "too many tokens, please wait", "throttlingexception"},
	},
	{
		class: llm.Unauthorized,
		words: []string{
			"invalid_api_key", "authentication_error",
			"base_resp 1004", "base_resp 2049", // MiniMax
		},
		texts: []string{"api key not valid"}, // Gemini, as a 400
	},
	{
		class: llm.NotFound,
		words: []string{"model_not_found", "DeploymentNotFound", "model_decommissioned"},
		texts: []string{
			"unexpected endpoint or method", // LM Studio, as a 200
			"404 not_found",                 // Z.AI, as a 200 with the code 500
		},
	},
	{
		// The texts: a chat template refuses the messages. llama.cpp reports that as a 500, but the same request never succeeds.
		class: llm.InvalidRequest,
		words: []string{"base_resp 2013"}, // MiniMax
		texts: []string{"roles must alternate", " at row *, column "},
	},
	{
		// The model wrote a call that its own server refused. If the request is sent again, the model writes another call.
		class: llm.BadReply,
		words: []string{"tool_use_failed"}, // Groq, as a 400
	},
}

// types maps general error types, such as "overloaded_error", to classes. The client uses this map for errors that match no row of
// [wordings] and have no error status, such as many errors within a stream. For errors with a 5xx status, the client uses it only to
// recognise [llm.Overloaded].
var types = map[string]llm.Class{
	"rate_limit_error":      llm.RateLimited,
	"rate_limit_exceeded":   llm.RateLimited,
	"overloaded_error":      llm.Overloaded,
	"server_is_overloaded":  llm.Overloaded, // OpenAI
	"slow_down":             llm.Overloaded, // OpenAI
	"server_error":          llm.ServerError,
	"internal_server_error": llm.ServerError,
	"api_error":             llm.ServerError,
	"upstream_error":        llm.ServerError,
	"timeout_error":         llm.ServerError, // Anthropic
	"permission_error":      llm.Unauthorized,
	"not_found_error":       llm.NotFound,
	"invalid_request_error": llm.InvalidRequest,

	// These are the exceptions in a stream of Bedrock (Amazon's API reference, ResponseStream), beside that of the table above.
	"internalserverexception":     llm.ServerError,
	"modelstreamerrorexception":   llm.ServerError,
	"modeltimeoutexception":       llm.ServerError,
	"serviceunavailableexception": llm.Overloaded,
	"validationexception":         llm.InvalidRequest,

	// These are the codes of a failed response of OpenAI's Responses API.
	"invalid_prompt":                 llm.InvalidRequest,
	"invalid_encrypted_content":      llm.InvalidRequest,
	"invalid_image":                  llm.InvalidRequest,
	"invalid_image_format":           llm.InvalidRequest,
	"invalid_base64_image":           llm.InvalidRequest,
	"invalid_image_url":              llm.InvalidRequest,
	"invalid_image_mode":             llm.InvalidRequest,
	"image_too_large":                llm.InvalidRequest,
	"image_too_small":                llm.InvalidRequest,
	"image_file_too_large":           llm.InvalidRequest,
	"image_parse_error":              llm.InvalidRequest,
	"image_file_not_found":           llm.InvalidRequest,
	"unsupported_image_media_type":   llm.InvalidRequest,
	"empty_image_file":               llm.InvalidRequest,
	"image_content_policy_violation": llm.Filtered,
}

// classOfText returns the class of the first row of [wordings] that matches; "" if there is none. There is one exception. If
// the message says that the output limit is not smaller than the context window, the class is [llm.InvalidRequest]. A shorter
// conversation would not help in this case.
func classOfText(words []string, message string) llm.Class {
	message = strings.ToLower(message)
	if outputFillsWindow(message) {
		return llm.InvalidRequest
	}
	for _, row := range wordings {
		for _, word := range words {
			if slices.ContainsFunc(row.words, func(w string) bool { return strings.EqualFold(w, word) }) {
				return row.class
			}
		}
		if slices.ContainsFunc(row.texts, func(t string) bool { return contains(message, t) }) {
			return row.class
		}
	}
	return ""
}

// contains reports whether a message contains a text of the table [wordings]. In the text, * stands for any characters.
func contains(message, text string) bool {
	for part := range strings.SplitSeq(text, "*") {
		var found bool
		if _, message, found = strings.Cut(message, part); !found {
			return false
		}
	}
	return true
}

// howMany is a regular expression for a number of tokens, such as "32768" or "32,768".
const howMany = `([0-9][0-9,]{0,14})`

// Some error messages have two numbers: the size of the context window and the output limit of the request. The regular expression
// `windows` finds the size, and `outputs` finds the limit.
var (
	windows = regexp.MustCompile(`(?:context length (?:is|of)|must be <=|exceed context limit: [0-9]+ \+ [0-9]+ >) ` + howMany)
	outputs = regexp.MustCompile(howMany + ` (?:(?:tokens )?(?:in|for) the (?:completion|output)|output tokens|.max_new_tokens)|' is too large: ` + howMany +
		`|exceed context limit: [0-9]+ \+ ` + howMany)
)

func outputFillsWindow(message string) bool {
	window, output := size(windows, message), size(outputs, message)
	return window > 0 && output >= window
}

// size returns the number that a regular expression finds in a message; 0 if there is no match. The number is the text that the groups
// of the expression match, without commas.
func size(expression *regexp.Regexp, message string) int64 {
	found := expression.FindStringSubmatch(message)
	if found == nil {
		return 0
	}
	n, _ := strconv.ParseInt(strings.ReplaceAll(strings.Join(found[1:], ""), ",", ""), 10, 64)
	return n
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

// hints says for some classes of errors what a person can do. [Model.complete] adds the text to the message.
var hints = map[llm.Class]string{
	llm.Unauthorized:  "check the API key",
	llm.NotFound:      "check the fields base_url and model",
	llm.QuotaExceeded: "check the plan and the balance of the account of the API key",
}

// waits finds the wait time in a message such as "Please try again in 9m38.016s." or "Retry after 26 seconds".
var waits = regexp.MustCompile(`(?i)\b(?:again|retry|wait)(?: in| after| for)?:? (?:(?:about|approximately|at least) )?(` + amounts + `)\b`)

func waitInMessage(message string) time.Duration {
	found := waits.FindStringSubmatch(message)
	if found == nil {
		return 0
	}
	wait, _ := duration(found[1])
	return wait
}
