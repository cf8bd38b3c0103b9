package endpoint

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
)

// classOf returns the class of the error in a response.
func classOf(t *testing.T, status int, body string) llm.Class {
	t.Helper()
	var told *llm.Error
	require.ErrorAs(t, Response{Status: status, Header: http.Header{}, Body: []byte(body)}.Failure(), &told, body)
	return told.Class
}

// A conversation is compacted only if a shorter one may succeed.
func TestOnlyAConversationThatIsTooLongIsCompacted(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]llm.Class{
		"prompt token count of 135000 exceeds the limit of 128000":                                   llm.ContextTooLong,
		"Your request exceeded model token limit: 262144 (requested: 300000)":                        llm.ContextTooLong,
		"The input (9000 tokens) is longer than the model's context length (8192 tokens).":           llm.ContextTooLong,
		"Input length (9000 tokens) exceeds the maximum allowed length (8192 tokens).":               llm.ContextTooLong,
		"Input length 9000 exceeds the maximum allowed input length of 8192 tokens.":                 llm.ContextTooLong,
		"`inputs` must have less than 4096 tokens. Given: 5000":                                      llm.ContextTooLong,
		"<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]":      llm.ContextTooLong,
		"too many tokens: total number of tokens in the prompt cannot exceed 4081":                   llm.ContextTooLong,
		"The decoder prompt (length 20000) is longer than the maximum model length of 8192.":         llm.ContextTooLong,
		"litellm.ContextWindowExceededError: litellm.BadRequestError":                                llm.ContextTooLong,
		"Invalid 'messages[2].content': string too long. Expected a string with maximum length 1000": llm.ContextTooLong,

		"Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum length 40": llm.InvalidRequest,
		"Invalid 'tools[0].function.description': string too long":                                          llm.InvalidRequest,

		// The output limit leaves no place for a conversation; the first of each pair leaves some.
		"'max_tokens' is too large: 8192. This model's maximum context length is 65536 tokens and your request has 57879 input tokens":        llm.ContextTooLong,
		"'max_tokens' is too large: 65536. This model's maximum context length is 65536 tokens and your request has 9 input tokens":           llm.InvalidRequest,
		"maximum context length is 131,072 tokens. However, you requested about 132,463 tokens (130,463 of text input, 2,000 in the output)":  llm.ContextTooLong,
		"maximum context length is 131,072 tokens. However, you requested about 132,463 tokens (463 of text input, 132,000 in the output)":    llm.InvalidRequest,
		"maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the messages, 1000 in the completion)":            llm.ContextTooLong,
		"maximum context length is 4096 tokens. However, you requested 5000 tokens (100 in the messages, 4900 in the completion)":             llm.InvalidRequest,
		"maximum context length is 4096 tokens. However, you requested 100 output tokens and your prompt contains at least 4000 input tokens": llm.ContextTooLong,
		"maximum context length is 4096 tokens. However, you requested 9000 output tokens and your prompt contains at least 4 input tokens":   llm.InvalidRequest,
		"`inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` tokens and 512 `max_new_tokens`":                            llm.ContextTooLong,
		"`inputs` tokens + `max_new_tokens` must be <= 8193. Given: 90 `inputs` tokens and 9000 `max_new_tokens`":                             llm.InvalidRequest,
		"input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000, decrease input length or `max_tokens`":                   llm.ContextTooLong,
		"input length and `max_tokens` exceed context limit: 100 + 200000 > 200000, decrease input length or `max_tokens`":                    llm.InvalidRequest,
		"maximum context length is 99999999999999999999999999 tokens. However, you requested 9 tokens (9 in the completion)":                  llm.ContextTooLong,
		"Conversation roles must alternate user/assistant/user/assistant/...":                                                                 llm.InvalidRequest,
		"Value is not callable: null at row 1, column 72":                                                                                     llm.InvalidRequest,
		"This is not the wording of anyone: the row and the column are at fault":                                                              llm.InvalidRequest,
	} {
		body, err := json.Marshal(map[string]any{"error": map[string]string{"message": message}})
		require.NoError(t, err)
		require.Equal(t, want, classOf(t, http.StatusBadRequest, string(body)), message)
	}
}

// A permanent lack of money fails; a limit that is counted anew is waited for.
func TestQuotaAndRateLimitAreToldApart(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]llm.Class{
		`{"error":{"code":"insufficient_quota","message":"You exceeded your current quota, see https://platform.openai.com"}}`:               llm.QuotaExceeded,
		`{"error":{"code":"insufficient_quota","message":"You exceeded your current quota, see: https://help.aliyun.com/zh/x#token-limit"}}`: llm.RateLimited,
		`{"error":{"type":"exceeded_current_quota_error","message":"no"}}`:                                                                   llm.QuotaExceeded,
		`{"code":"Some resource has been exhausted","error":"Your team has either used all available credits or reached its monthly limit"}`: llm.QuotaExceeded,
		`{"code":402,"error":"no"}`:                                                            llm.RateLimited, // the status of the response counts
		`{"code":"1113","error":"no"}`:                                                         llm.QuotaExceeded,
		`{"error":{"code":"1302","message":"no"}}`:                                             llm.RateLimited,
		`{"base_resp":{"status_code":1008,"status_msg":""}}`:                                   llm.QuotaExceeded,
		`{"base_resp":{"status_code":1039,"status_msg":"token limit exceeded"}}`:               llm.RateLimited,
		`{"error":{"code":"Throttling.AllocationQuota","message":"Allocated quota exceeded"}}`: llm.RateLimited,
	} {
		require.Equal(t, want, classOf(t, http.StatusTooManyRequests, body), body)
	}
}

// Statuses by which an endpoint says that it failed for the moment are retried, in the response and in the body of a 200.
func TestStatusesOfAFailedEndpointAreRetried(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]llm.Class{
		424: llm.ServerError, 499: llm.ServerError, 498: llm.Overloaded, 418: llm.InvalidRequest,
	} {
		body, err := json.Marshal(map[string]any{"error": map[string]any{"code": status, "message": "no luck"}})
		require.NoError(t, err)
		require.Equal(t, want, classOf(t, status, string(body)))
		require.Equal(t, want, classOf(t, http.StatusOK, string(body)))
	}
}

func TestTextsInTheTablesAreInLowerCase(t *testing.T) {
	t.Parallel()
	for _, row := range wordings {
		for _, text := range row.texts {
			require.Equal(t, strings.ToLower(text), text)
		}
	}
}

// A star stands for any characters, in order.
func TestStarsInTextsAreInOrder(t *testing.T) {
	t.Parallel()
	require.True(t, contains("an input of length 9 exceeds it", "input*length*exceed"))
	require.False(t, contains("exceeds the length of the input", "input*length*exceed"))
	require.False(t, contains("abc", "abc*c"))
	require.False(t, contains(strings.Repeat("a", 1<<20), strings.Repeat("a*", 50)+"b"))
}

// A failed response of the Responses API has a success status, so its code determines the class.
func TestCodeOfAFailedResponseCounts(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]llm.Class{
		"server_error": llm.ServerError, "rate_limit_exceeded": llm.RateLimited, "context_length_exceeded": llm.ContextTooLong,
		"insufficient_quota": llm.QuotaExceeded, "invalid_prompt": llm.InvalidRequest, "image_parse_error": llm.InvalidRequest,
		"image_content_policy_violation": llm.Filtered, "failed_to_download_image": llm.BadReply,
	} {
		require.Equal(t, want, classOf(t, 200, `{"object":"response","status":"failed","error":{"code":"`+code+`","message":"no luck"}}`), code)
	}
}

// A text is valid UTF-8 whatever JSON value the endpoint sent, because texts are stored as JSON.
func TestTextIsValid(t *testing.T) {
	t.Parallel()
	var text Text
	require.NoError(t, json.Unmarshal([]byte("{\"a\":\"\xff\"}"), &text))
	require.Equal(t, Text("{\"a\":\"\uFFFD\"}"), text)
}
