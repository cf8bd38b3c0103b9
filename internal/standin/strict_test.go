package standin_test

import (
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// openAIRefusal returns OpenAI's error. If the code is empty, it is null.
func openAIRefusal(t *testing.T, message, param, code string) string {
	t.Helper()
	e := object{"message": message, "type": "invalid_request_error", "param": nil, "code": nil}
	if param != "" {
		e["param"] = param
	}
	if code != "" {
		e["code"] = code
	}
	return text(t, object{"error": e})
}

// typed is a tool with a parameter.
var typed = tool(object{"type": "object", "properties": object{"n": object{"type": "number"}}})

func TestOpenAIRefuses(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 41)
	callOf := func(id string, more object) object {
		c := call2(id)
		maps.Copy(c, more)
		return object{"role": "assistant", "content": nil, "tool_calls": []any{c}}
	}
	const maxTokens = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
	tests := map[string]struct {
		model             string
		messages          []object
		rest              object
		says, param, code string
	}{
		"a long ID": {messages: []object{callOf(long, nil), result(long)}, param: "messages[1].tool_calls[0].id", code: "string_above_max_length",
			says: "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 41 instead."},
		"an unknown member of a message": {messages: []object{with(user("x"), "reasoning_content", "y")}, param: "messages[1].reasoning_content", code: "unknown_parameter",
			says: "Unknown parameter: 'messages[1].reasoning_content'."},
		"an unknown member of a call": {messages: []object{callOf("1", object{"extra_content": object{}}), result("1")},
			param: "messages[1].tool_calls[0].extra_content", code: "unknown_parameter", says: "Unknown parameter: 'messages[1].tool_calls[0].extra_content'."},
		"a schema without properties": {rest: object{"tools": []any{tool(object{"type": "object"})}}, param: "tools[0].function.parameters", code: "invalid_function_parameters",
			says: "Invalid schema for function 'f': In context=(), object schema missing properties."},
		"an effort without reasoning": {model: "gpt-4o", rest: object{"reasoning_effort": "low"}, says: "Unrecognized request argument supplied: reasoning_effort"},
		"max_tokens for gpt-5":        {model: "gpt-5-mini", rest: object{"max_tokens": 9}, param: "max_tokens", code: "unsupported_parameter", says: maxTokens},
		"max_tokens for o3":           {model: "o3", rest: object{"max_tokens": 9}, param: "max_tokens", code: "unsupported_parameter", says: maxTokens},
		"a temperature": {model: "gpt-5", rest: object{"temperature": 0.5}, param: "temperature", code: "unsupported_value",
			says: "Unsupported value: 'temperature' does not support 0.5 with this model. Only the default (1) value is supported."},
		"a temperature of 0": {model: "o4-mini", rest: object{"temperature": 0}, param: "temperature", code: "unsupported_value",
			says: "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported."},
		"a long key of the cache": {rest: object{"prompt_cache_key": strings.Repeat("k", 65)}, param: "prompt_cache_key", code: "string_above_max_length",
			says: "Invalid 'prompt_cache_key': string too long. Expected a string with maximum length 64, but got a string with length 65 instead."},
		"tools with an effort for gpt-5.4": {model: "gpt-5.4-mini", rest: object{"tools": []any{typed}, "reasoning_effort": "low"}, param: "reasoning_effort",
			says: "Function tools with reasoning_effort are not supported for gpt-5.4-mini in /v1/chat/completions. Please use /v1/responses instead."},
		"tools with an effort for gpt-5.6": {model: "gpt-5.6-sol", rest: object{"tools": []any{typed}, "reasoning_effort": "high"}, param: "reasoning_effort",
			says: "Function tools with reasoning_effort are not supported for gpt-5.6-sol in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'."},
		"tools alone for gpt-5.6": {model: "gpt-5.6", rest: object{"tools": []any{typed}}, param: "reasoning_effort",
			says: "Function tools with reasoning_effort are not supported for gpt-5.6 in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'."},
	}
	for name, test := range tests {
		for provider, p := range map[string]*standin.Provider{"OpenAI": standin.OpenAI(), "Azure": standin.Azure()} {
			t.Run(provider+" "+name, func(t *testing.T) {
				t.Parallel()
				d := talk(t, p, llmtest.Say("a"), llmtest.Say("b")).say(test.messages...)
				if d.rest = test.rest; test.model != "" {
					d.name = test.model
				}
				d.refused(http.StatusBadRequest, openAIRefusal(t, test.says, test.param, test.code))
			})
		}
	}
}

func TestOpenAIAccepts(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		model string
		rest  object
	}{
		"an ID of 40 characters":       {rest: object{}},
		"a cache key of 64 characters": {rest: object{"prompt_cache_key": strings.Repeat("k", 64)}},
		"a tool without a schema":      {rest: object{"tools": []any{tool(nil)}}},
		"empty properties":             {rest: object{"tools": []any{tool(object{"type": "object", "properties": object{}})}}},
		"parameters of other models":   {model: "gpt-4o", rest: object{"max_tokens": 9, "temperature": 0}},
		"parameters of ChatGPT":        {model: "gpt-5-chat-latest", rest: object{"max_tokens": 9, "temperature": 0}},
		"max_completion_tokens":        {model: "gpt-5", rest: object{"max_completion_tokens": 9, "temperature": 1}},
		"a temperature without effort": {model: "gpt-5.1", rest: object{"temperature": 0.5, "reasoning_effort": "none"}},
		"an effort without tools":      {model: "gpt-5.6", rest: object{"reasoning_effort": "high"}},
		"tools with effort, gpt-5.2":   {model: "gpt-5.2", rest: object{"reasoning_effort": "high", "tools": []any{typed}}},
		"tools without effort":         {model: "gpt-5.4", rest: object{"tools": []any{typed}}},
		"tools with effort none":       {model: "gpt-5.6", rest: object{"tools": []any{typed}, "reasoning_effort": "none"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := strings.Repeat("x", 40)
			d := talk(t, standin.OpenAI(), llmtest.Say("unused"), llmtest.Say("b")).say(step(id, "2")...)
			if d.rest = test.rest; test.model != "" {
				d.name = test.model
			}
			require.Equal(t, "b", d.hear()["content"])
		})
	}
}

func TestAProviderCanTreatEveryModelAsAReasoningModel(t *testing.T) {
	t.Parallel()
	p := standin.Azure()
	p.Reasoning = true
	d := talk(t, p, llmtest.Say("a"))
	d.with("max_tokens", 9).refused(http.StatusBadRequest, openAIRefusal(t,
		"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", "max_tokens", "unsupported_parameter"))
}

func TestAzureNeedsTheVersionInClassicPaths(t *testing.T) {
	t.Parallel()
	server := serve(t, llmtest.Script(llmtest.Say("a")))
	server.Provider = standin.Azure()
	root := strings.TrimSuffix(server.URL, "/v1")
	for path, want := range map[string]int{
		"/openai/deployments/gpt/chat/completions":                        http.StatusNotFound,
		"/openai/deployments/gpt/chat/completions?api-version=":           http.StatusNotFound,
		"/openai/deployments/gpt/chat/completions?api-version=2024-10-21": http.StatusOK,
		"/models/chat/completions":                                        http.StatusNotFound,
		"/models/chat/completions?api-version=2024-05-01-preview":         http.StatusOK,
		"/openai/v1/chat/completions":                                     http.StatusOK,
	} {
		response, err := http.Post(root+path, "application/json", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"x"}]}`))
		require.NoError(t, err)
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, want, response.StatusCode, path)
		if want == http.StatusNotFound {
			require.JSONEq(t, `{"error":{"code":"404","message":"Resource not found"}}`, string(body))
		}
	}
}

func TestMistralRefuses(t *testing.T) {
	t.Parallel()
	good, bad := "abcDEF123", "call_0fypS1hVX"
	forbidden := func(list string) string {
		return `{"object":"error","message":{"detail":[` + list + `]},"type":"invalid_request_error","param":null,"code":null}`
	}
	wrong := func(message, kind, code string) string {
		return text(t, object{"object": "error", "message": message, "type": kind, "param": nil, "code": code})
	}
	const (
		extra = `"type":"extra_forbidden","msg":"Extra inputs are not permitted"`
		order = "invalid_request_message_order"
	)
	thoughtful := step(good, "000000000")
	thoughtful[0]["reasoning_content"] = "\n"
	thoughtful[0]["tool_calls"].([]any)[0].(object)["extra_content"] = 1 //nolint:forcetypeassert // a test may panic
	tests := map[string]struct {
		messages []object
		rest     object
		status   int
		want     string
	}{
		"max_completion_tokens and seed": {rest: object{"max_completion_tokens": 9, "seed": 1}, status: http.StatusUnprocessableEntity,
			want: forbidden(`{` + extra + `,"loc":["body","max_completion_tokens"],"input":9},{` + extra + `,"loc":["body","seed"],"input":1}`)},
		"unknown members": {messages: thoughtful, status: http.StatusUnprocessableEntity,
			want: forbidden(`{` + extra + `,"loc":["body","messages",1,"assistant","reasoning_content"],"input":"\n"},{` +
				extra + `,"loc":["body","messages",1,"assistant","tool_calls",0,"extra_content"],"input":1}`)},
		"the ID of a call": {messages: step(good, bad), status: http.StatusBadRequest,
			want: wrong("Tool call id was call_0fypS1hVX but must be a-z, A-Z, 0-9, with a length of 9.", "invalid_function_call", "3280")},
		"a long ID of a call": {messages: step(good, "abcDEF1234"), status: http.StatusBadRequest,
			want: wrong("Tool call id was abcDEF1234 but must be a-z, A-Z, 0-9, with a length of 9.", "invalid_function_call", "3280")},
		"a user after a tool": {messages: append(step(good, "000000000"), user("x")), status: http.StatusBadRequest,
			want: wrong("Unexpected role 'user' after role 'tool'", order, "3230")},
		"an assistant at the end": {messages: []object{{"role": "assistant", "content": "x"}}, status: http.StatusBadRequest,
			want: wrong("Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant", order, "3230")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := talk(t, standin.Mistral(), llmtest.Say("a"), llmtest.Say("b")).say(test.messages...)
			d.rest = test.rest
			d.refused(test.status, test.want)
		})
	}
}

func TestMistralAccepts(t *testing.T) {
	t.Parallel()
	d := talk(t, standin.Mistral(), llmtest.Say("unused"), llmtest.Say("b"), llmtest.Say("c")).
		with("max_tokens", 9).with("random_seed", 1).with("tools", []any{tool(object{"type": "object"})}).say(step("abcDEF123", "000000000")...)
	require.Equal(t, "b", d.hear()["content"])
	require.Equal(t, "c", d.say(object{"role": "assistant", "content": ""}, user("x")).hear()["content"])
}

func TestCloudflareRefusesAContentOfNull(t *testing.T) {
	t.Parallel()
	const wording = `{"errors":{"message":"AiError: Bad input: Error: oneOf at '/' not met, 0 matches: required properties at '/' are 'prompt', %s (d9e09afe-fe49-4051-bc1d-8901f858ff52)","code":5006},"success":false,"result":{},"messages":[]}`
	d := talk(t, standin.Cloudflare(), llmtest.Say("unused"), llmtest.Say("b")).say(step("1", "2")...)
	d.messages[1]["content"] = nil
	d.refused(http.StatusBadRequest, strings.Replace(wording, "%s", "Type mismatch of '/messages/1/content', 'null' not in 'string'", 1))
	delete(d.messages[1], "content")
	d.refused(http.StatusBadRequest, strings.Replace(wording, "%s", "required properties at '/messages/1' are 'role,content'", 1))
	d.messages[1]["content"] = ""
	require.Equal(t, "b", d.hear()["content"])
}

func TestGemmaRefuses(t *testing.T) {
	t.Parallel()
	wrong := func(message string) string {
		return text(t, object{"object": "error", "message": message, "type": "BadRequestError", "param": nil, "code": 400})
	}
	ask := func() *dialogue { return talk(t, standin.Gemma(), llmtest.Say("a"), llmtest.Say("b")) }

	d := ask()
	d.messages = []object{{"role": "system", "content": "Be short."}, user("x")}
	d.refused(http.StatusBadRequest, wrong("System role not supported"))
	d.messages[0]["role"] = "developer"
	d.refused(http.StatusBadRequest, wrong("Conversation roles must alternate user/assistant/user/assistant/..."))

	d = ask().with("stream_options", object{"include_usage": true})
	d.stream = true
	d.refused(http.StatusBadRequest, wrong(`[{'type': 'extra_forbidden', 'loc': ('body', 'stream_options'), 'msg': 'Extra inputs are not permitted', 'input': {"include_usage":true}}]`))
	ask().with("tools", []any{typed}).with("parallel_tool_calls", false).refused(http.StatusBadRequest,
		wrong(`[{'type': 'extra_forbidden', 'loc': ('body', 'parallel_tool_calls'), 'msg': 'Extra inputs are not permitted', 'input': False}]`))

	require.Equal(t, "b", ask().with("tools", []any{typed}).say(step("1", "2")...).hear()["content"])
}

func TestThePrefixCacheCountsWholeMessages(t *testing.T) {
	t.Parallel()
	var cache standin.PrefixCache
	d := talk(t, nil, llmtest.Say("a"), llmtest.Say("b"), llmtest.Say("c")).with("tools", []any{typed})
	d.server.PrefixCache = &cache

	var before llm.Usage
	ask := func() llm.Usage {
		before = llm.Usage{}
		if all := cache.Usages(); len(all) > 0 {
			before = all[len(all)-1]
		}
		d.hear()
		all := cache.Usages()
		return all[len(all)-1]
	}
	require.Zero(t, ask().CachedTokens, "the first request finds nothing")
	first := ask()
	require.Equal(t, first.InputTokens, first.CachedTokens, "the same request is known as a whole")
	require.Positive(t, first.InputTokens)

	d.say(object{"role": "assistant", "content": "a"}, user("And?"))
	second := ask()
	require.Equal(t, before.InputTokens, second.CachedTokens, "each request reads what the one before wrote")
	require.Greater(t, second.InputTokens, second.CachedTokens)

	d.messages[1]["content"] = "x"
	require.Equal(t, first.InputTokens, ask().CachedTokens, "a change ends the prefix")
	d.messages[0]["content"] = "Hi"
	tools := ask().CachedTokens
	require.Positive(t, tools, "the tools come first")
	require.Less(t, tools, first.InputTokens)
	d.rest["tools"] = []any{tool(nil)}
	require.Zero(t, ask().CachedTokens, "other tools change everything")
	d.rest["tools"] = []any{typed}
	d.name = "other"
	require.Zero(t, ask().CachedTokens, "each model has its own cache")
}

func TestThePrefixCacheIgnoresShortPrefixesAndTheOrderOfMembers(t *testing.T) {
	t.Parallel()
	server := serve(t, llmtest.Script(llmtest.Say("a")))
	server.PrefixCache = &standin.PrefixCache{}
	for _, message := range []string{`{"role":"user","content":"x"}`, `{ "content":"x", "role":"user"}`} {
		_, body := post(t, server, `{"model":"m","messages":[`+message+`]}`)
		require.Contains(t, body, `"prompt_tokens":7`)
	}
	require.Equal(t, []llm.Usage{{InputTokens: 7}, {InputTokens: 7, CachedTokens: 7}}, server.PrefixCache.Usages())

	server.PrefixCache = &standin.PrefixCache{Least: 8}
	for range 2 {
		_, body := post(t, server, `{"model":"m","messages":[{"role":"user","content":"x"}]}`)
		require.Contains(t, body, `"cached_tokens":0`)
	}
}
