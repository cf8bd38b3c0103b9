package openai_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
	"github.com/reagent-dev/reagent/llm/openai"
)

// teacher is an endpoint that refuses each request whose body it does not accept.
type teacher struct {
	status  int
	says    string
	accepts func(body map[string]any) bool

	mu    sync.Mutex
	asked int
	last  map[string]any // the last request that was accepted
}

func (e *teacher) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	encoded, _ := io.ReadAll(r.Body)
	var body map[string]any
	_ = json.Unmarshal(encoded, &body)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.asked++; !e.accepts(body) {
		w.WriteHeader(e.status)
		_, _ = io.WriteString(w, e.says)
		return
	}
	e.last = body
	_, _ = io.WriteString(w, `{"choices":[{"message":{"role":"assistant","content":"Done."},"finish_reason":"stop"}]}`)
}

// rich returns a request in which everything occurs that an endpoint may refuse.
func rich() llm.Request {
	zero, seed, parallel := 0.0, 7, true
	req := ask()
	req.Messages = []llm.Message{
		{Role: llm.System, Content: "Be brief."},
		{Role: llm.User, Content: "How is the weather?"},
		{Role: llm.Assistant, ToolCalls: []llm.ToolCall{{ID: "toolu_" + strings.Repeat("x", 60), Name: "look", Arguments: "{}"}}},
		{Role: llm.Tool, ToolCallID: "toolu_" + strings.Repeat("x", 60), Content: "Sunny."},
		{Role: llm.User, Content: "And tomorrow?"},
	}
	req.Tools = []llm.ToolSpec{{Name: "look", Parameters: json.RawMessage(`{"type":"object"}`)}}
	req.Params = llm.Params{
		Temperature: &zero, TopP: &zero, Seed: &seed, ParallelToolCalls: &parallel, MaxOutputTokens: 100,
		OutputSchema: json.RawMessage(`{"type":"object","properties":{}}`),
	}
	return req
}

// messagesOf returns the messages in a body.
func messagesOf(body map[string]any) []map[string]any {
	var all []map[string]any
	for _, m := range body["messages"].([]any) {
		all = append(all, m.(map[string]any))
	}
	return all
}

// callOf returns the call in a body.
func callOf(body map[string]any) map[string]any {
	for _, m := range messagesOf(body) {
		if calls, ok := m["tool_calls"].([]any); ok {
			return calls[0].(map[string]any)
		}
	}
	return nil
}

// If an endpoint refuses the form of a request, the client changes it, remembers the form for the model, and asks with it from then
// on. A refused form costs one request.
func TestFormIsLearned(t *testing.T) {
	t.Parallel()
	lacks := func(field string) func(map[string]any) bool {
		return func(body map[string]any) bool { return body[field] == nil }
	}
	roles := func(body map[string]any) string {
		var all []string
		for _, m := range messagesOf(body) {
			all = append(all, m["role"].(string))
		}
		return strings.Join(all, " ")
	}
	id := func(body map[string]any) string { return callOf(body)["id"].(string) }
	for name, e := range map[string]*teacher{
		"output limit": {says: `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","param":"max_tokens","code":"unsupported_parameter"}}`,
			accepts: func(b map[string]any) bool {
				return b["max_tokens"] == nil && b["max_completion_tokens"] == 100.0
			}},
		"temperature": {says: `{"error":{"message":"Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.","param":"temperature"}}`,
			accepts: lacks("temperature")},
		"top_p": {says: `{"error":{"message":"Unsupported parameter: 'top_p' is not supported with this model."}}`, accepts: lacks("top_p")},
		"parallel calls": {status: 422, says: `{"detail":[{"loc":["body","parallel_tool_calls"],"msg":"Extra inputs are not permitted"}]}`,
			accepts: lacks("parallel_tool_calls")},
		"seed": {says: `{"error":{"message":"Unknown name \"seed\": Cannot find field."}}`, accepts: lacks("seed")},
		"content": {says: `{"errors":[{"message":"AiError: Bad input: Error: oneOf at '/' not met, 0 matches: required properties at '/' are 'prompt', Type mismatch of '/messages/2/content', 'string' not in 'null'","code":5006}]}`,
			accepts: func(b map[string]any) bool { return messagesOf(b)[2]["content"] == "" }},
		"developer": {says: `{"error":{"message":"Unsupported value: 'messages[0].role' does not support 'system' with this model; use 'developer'.","param":"messages[0].role"}}`,
			accepts: func(b map[string]any) bool { return messagesOf(b)[0]["role"] == "developer" }},
		"no system": {says: `{"error":{"message":"System role not supported"}}`,
			accepts: func(b map[string]any) bool {
				return roles(b) == "user assistant tool user" && messagesOf(b)[0]["content"] == "Be brief.\n\nHow is the weather?"
			}},
		"no instructions": {says: `{"error":{"message":"Developer instruction is not enabled for models/gemma-3-27b-it"}}`,
			accepts: func(b map[string]any) bool { return roles(b) == "user assistant tool user" }},
		"order": {says: `{"object":"error","message":"Unexpected role 'user' after role 'tool'","type":"invalid_request_message_order"}`,
			accepts: func(b map[string]any) bool { return roles(b) == "system user assistant tool assistant user" }},
		"short IDs": {says: `{"error":{"message":"Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 66 instead.","code":"string_above_max_length"}}`,
			accepts: func(b map[string]any) bool { return len(id(b)) <= 40 && id(b) == messagesOf(b)[3]["tool_call_id"] }},
		"nine": {says: `{"object":"error","message":"Tool call id was toolu_x but must be a-z, A-Z, 0-9, with a length of 9."}`,
			accepts: func(b map[string]any) bool { return len(id(b)) == 9 && id(b) == messagesOf(b)[3]["tool_call_id"] }},
		"empty schema": {says: `[{"error":{"code":400,"message":"* GenerateContentRequest.tools[0].function_declarations[0].parameters.properties: should be non-empty for OBJECT type\n","status":"INVALID_ARGUMENT"}}]`,
			accepts: func(b map[string]any) bool {
				return b["tools"].([]any)[0].(map[string]any)["function"].(map[string]any)["parameters"] == nil
			}},
		"strict": {says: `{"error":{"message":"response_format.json_schema.strict must be true"}}`,
			accepts: func(b map[string]any) bool {
				return b["response_format"].(map[string]any)["json_schema"].(map[string]any)["strict"] == true
			}},
		"reasoning of DeepSeek": {says: "{\"error\":{\"message\":\"The `reasoning_content` in the thinking mode must be passed back to the API.\"}}",
			accepts: func(b map[string]any) bool { return messagesOf(b)[2]["reasoning_content"] == "" }},
		"reasoning of Kimi": {says: `{"error":{"message":"thinking is enabled but reasoning_content is missing in assistant tool call message at index 2"}}`,
			accepts: func(b map[string]any) bool { return messagesOf(b)[2]["reasoning_content"] == "" }},
		"signature": {says: `[{"error":{"code":400,"message":"Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly.","status":"INVALID_ARGUMENT"}}]`,
			accepts: func(b map[string]any) bool {
				return fmt.Sprint(callOf(b)["extra_content"]) == "map[google:map[thought_signature:skip_thought_signature_validator]]"
			}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if e.status == 0 {
				e.status = http.StatusBadRequest
			}
			client := serve(t, e)
			req := rich()

			for range 3 {
				_, err := client.Complete(t.Context(), req)
				require.NoError(t, err)
			}

			require.Equal(t, 4, e.asked, "one refused request, and then the form that is accepted")
			require.Equal(t, rich(), req)
		})
	}
}

// An endpoint may refuse several things, one after the other.
func TestFormsAreLearnedTogether(t *testing.T) {
	t.Parallel()
	e := &teacher{status: http.StatusBadRequest}
	e.accepts = func(b map[string]any) bool {
		for _, field := range []string{"temperature", "top_p", "seed"} {
			if b[field] != nil {
				e.says = `{"error":{"message":"Unsupported parameter: '` + field + `'"}}`
				return false
			}
		}
		return true
	}
	client := serve(t, e)

	_, err := client.Complete(t.Context(), rich())

	require.NoError(t, err)
	require.Equal(t, 4, e.asked)
}

// If an endpoint refuses every form, the error names the option, and the client remembers nothing.
func TestRefusalOfEveryFormNamesTheOption(t *testing.T) {
	t.Parallel()
	e := &teacher{status: http.StatusBadRequest, accepts: func(map[string]any) bool { return false },
		says: `{"error":{"message":"the field reasoning_content is missing"}}`}
	client := serve(t, e)

	_, err := client.Complete(t.Context(), rich())

	require.ErrorIs(t, err, &llm.Error{Class: llm.InvalidRequest})
	require.ErrorContains(t, err, "reasoning.send")
	before := e.asked
	_, err = client.Complete(t.Context(), rich())
	require.Error(t, err)
	require.Equal(t, 2*before, e.asked)
}

// Data of the provider comes back unchanged, in the message and in the call in which it came. Another family does not get it.
func TestDataOfTheProviderComesBack(t *testing.T) {
	t.Parallel()
	const message = `{"role":"assistant","content":"Let me look.","extra_content":{"google":{"thought_signature":"bWVzc2FnZQ<&>=="}},` +
		`"reasoning_details":[{"type":"reasoning.text","text":"Hm, so.","signature":"c2ln","index":0},{"type":"reasoning.encrypted","data":"ZGF0YQ==","index":1}],` +
		`"tool_calls":[{"id":"a","type":"function","function":{"name":"look","arguments":"{}"},"extra_content":{"google":{"thought_signature":"Y2FsbA=="}}},` +
		`{"id":"b","type":"function","function":{"name":"look","arguments":"{}"}}]}`
	events := []string{
		`{"choices":[{"delta":{"role":"assistant","content":"Let me look.","reasoning_details":[{"type":"reasoning.text","text":"Hm, ","index":0}]}}]}`,
		`{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","text":"so.","signature":"c2ln","index":0},{"type":"reasoning.encrypted","data":"ZGF0YQ==","index":1}]}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"look","arguments":"{}"},"extra_content":{"google":{"thought_signature":"Y2FsbA=="}}}]}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"look","arguments":"{}"}}]}}]}`,
		`{"choices":[{"delta":{"content":"","extra_content":{"google":{"thought_signature":"bWVzc2FnZQ<&>=="}}},"finish_reason":"tool_calls"}]}`,
		`[DONE]`,
	}
	for name, answer := range map[string]http.Handler{
		"whole": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"choices":[{"message":`+message+`,"finish_reason":"tool_calls"}]}`)
		}),
		"stream": lines(events...),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked []string
			client := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				asked = append(asked, string(body))
				answer.ServeHTTP(w, r)
			}))
			req := ask()
			req.Candidates[0].Model = "google/gemini-3-pro"
			req.Tools = []llm.ToolSpec{{Name: "look"}}

			reply, err := client.Complete(t.Context(), req)
			require.NoError(t, err)
			req.Messages = append(req.Messages, reply.Message, llm.Message{Role: llm.Tool, ToolCallID: "a", Content: "1"}, llm.Message{Role: llm.Tool, ToolCallID: "b", Content: "2"})
			_, err = client.Complete(t.Context(), req)
			require.NoError(t, err)

			var body struct{ Messages []json.RawMessage }
			require.NoError(t, json.Unmarshal([]byte(asked[1]), &body))
			require.JSONEq(t, message, string(body.Messages[1]))
			require.Contains(t, string(body.Messages[1]), "bWVzc2FnZQ<&>==")

			req.Candidates[0].Model = "other-model"
			_, err = client.Complete(t.Context(), req)
			require.NoError(t, err)
			for _, field := range []string{"extra_content", "reasoning_details", "signature"} {
				require.NotContains(t, asked[2], field)
			}
		})
	}
}

// MiniMax needs its reasoning back in the text, as it was.
func TestTextOfMiniMaxComesBackWithItsReasoning(t *testing.T) {
	t.Parallel()
	said := "<think>\nHm.\n</think>\n\nSunny."
	endpoint := &standin.Endpoint{Client: llmtest.Script(llmtest.Say(said), llmtest.Say("Bye."))}
	client := serve(t, endpoint)
	req := ask()
	req.Candidates[0].Model = "MiniMax-M2"

	reply, err := client.Complete(t.Context(), req)
	require.NoError(t, err)
	require.Equal(t, "Sunny.", reply.Message.Content)
	req.Messages = append(req.Messages, reply.Message, llm.Message{Role: llm.User, Content: "Bye."})
	_, err = client.Complete(t.Context(), req)
	require.NoError(t, err)

	require.Equal(t, said, endpoint.Requests()[1].Request.Messages[1].Content)
}

// The provider and the model decide whether the reasoning goes back. An option can say it, too.
func TestReasoningGoesBackByPolicy(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		model   string
		options openai.Reasoning
		want    []string // the reasoning of the three assistant messages in the request; "-" means that the field is missing
	}{
		{"gpt-4o-mini", openai.Reasoning{}, []string{"-", "-", "-"}},
		{"deepseek-v4-pro", openai.Reasoning{}, []string{"old", "", "new"}},
		{"deepseek-r1", openai.Reasoning{}, []string{"-", "-", "-"}},
		{"kimi-k2.6", openai.Reasoning{}, []string{"old", " ", "new"}},
		{"glm-5", openai.Reasoning{}, []string{"-", "", "new"}},
		{"kimi-k2.6", openai.Reasoning{Send: openai.Never}, []string{"-", "-", "-"}},
		{"gpt-oss-120b", openai.Reasoning{Send: openai.Always}, []string{"old", "", "new"}},
	} {
		t.Run(test.model+" "+test.options.Send, func(t *testing.T) {
			t.Parallel()
			endpoint := &standin.Endpoint{Client: llmtest.Func(llmtest.Script(llmtest.Say(""), llmtest.Say(""), llmtest.Say(""), llmtest.Say("Hi.")).Complete)}
			client := serve(t, endpoint, func(o *openai.Options) { o.Reasoning = test.options })
			call := []llm.ToolCall{{ID: "1", Name: "f", Arguments: "{}"}}
			req := ask()
			req.Candidates[0].Model = test.model
			req.Messages = append(req.Messages,
				llm.Message{Role: llm.Assistant, Content: "Sunny.", Reasoning: "old"},
				llm.Message{Role: llm.User, Content: "And in Rome?"},
				llm.Message{Role: llm.Assistant, ToolCalls: call},
				llm.Message{Role: llm.Tool, ToolCallID: "1", Content: "Rain."},
				llm.Message{Role: llm.Assistant, ToolCalls: call, Reasoning: "new"},
				llm.Message{Role: llm.Tool, ToolCallID: "1", Content: "Rain."},
			)

			_, err := client.Complete(t.Context(), req)

			require.NoError(t, err)
			var body struct {
				Messages []struct {
					Role      string
					Reasoning *string `json:"reasoning_content"`
				}
			}
			require.NoError(t, json.Unmarshal(endpoint.Requests()[0].Body, &body))
			var got []string
			for _, m := range body.Messages {
				switch {
				case m.Role != "assistant":
				case m.Reasoning == nil:
					got = append(got, "-")
				default:
					got = append(got, *m.Reasoning)
				}
			}
			require.Equal(t, test.want, got)
		})
	}
}

// A model that an endpoint serves only through the Responses API is asked there. The names of some models say so.
func TestModelIsAskedThroughTheAPIThatServesIt(t *testing.T) {
	t.Parallel()
	const refusal = `{"error":{"message":"Function tools with reasoning_effort are not supported for gpt-x in /v1/chat/completions. Please use /v1/responses instead.","type":"invalid_request_error","param":"reasoning_effort","code":null}}`
	for name, test := range map[string]struct {
		api   string
		paths []string // the paths of the requests, of which the last succeeds
	}{
		"auto":      {"", []string{"/v1/chat/completions", "/v1/responses", "/v1/responses"}},
		"responses": {openai.ResponsesAPI, []string{"/v1/responses", "/v1/responses"}},
		"chat":      {openai.ChatAPI, []string{"/v1/chat/completions", "/v1/chat/completions"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var paths []string
			far := llmtest.Handler(llmtest.Script(llmtest.Say("Hi.")))
			client := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				paths = append(paths, r.URL.Path)
				mu.Unlock()
				if strings.HasSuffix(r.URL.Path, "/chat/completions") {
					w.WriteHeader(http.StatusBadRequest)
					_, _ = io.WriteString(w, refusal)
					return
				}
				far.ServeHTTP(w, r)
			}), func(o *openai.Options) { o.API = test.api })
			for range 2 {
				_, err := client.Complete(t.Context(), ask())
				if test.api == openai.ChatAPI {
					require.ErrorContains(t, err, "set api to responses")
				} else {
					require.NoError(t, err)
				}
			}
			require.Equal(t, test.paths, paths)
		})
	}
}

// A request whose reply has begun is not sent again, whatever the error says: the model has seen it.
func TestNothingIsLearnedFromAReplyThatHasBegun(t *testing.T) {
	t.Parallel()
	for _, api := range []string{openai.ChatAPI, openai.ResponsesAPI} {
		asked := 0
		begun := "data: " + text("The wea") + "\n\n"
		if api == openai.ResponsesAPI {
			begun = `data: {"type":"response.output_text.delta","output_index":0,"delta":"The wea"}` + "\n\n"
		}
		client := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked++
			stream(begun+`data: {"error":{"code":400,"message":"the upstream stream was rejected"}}`+"\n\n").ServeHTTP(w, r)
		}), func(o *openai.Options) { o.API = api })

		_, err := client.Complete(t.Context(), ask())

		require.Error(t, err)
		require.Equal(t, 1, asked)
	}
}

// A template whose roles must alternate gets neither two messages of the user in a row nor one after the result of a tool.
func TestMessagesAlternateIfTheyMust(t *testing.T) {
	t.Parallel()
	e := &teacher{status: http.StatusBadRequest, says: `{"error":{"message":"Conversation roles must alternate user/assistant/user/assistant/..."}}`,
		accepts: func(b map[string]any) bool {
			before := ""
			for _, m := range messagesOf(b) {
				role := m["role"].(string)
				if role == "user" && (before == "user" || before == "tool") {
					return false
				}
				before = role
			}
			return true
		}}
	client := serve(t, e)
	req := rich()
	req.Messages = append(req.Messages, llm.Message{Role: llm.User, Content: "Rather in Rome."})

	_, err := client.Complete(t.Context(), req)

	require.NoError(t, err)
	last := messagesOf(e.last)
	require.Equal(t, "And tomorrow?\n\nRather in Rome.", last[len(last)-1]["content"])
}

// Encrypted data is one element, whatever its index says. Only texts of one element are joined.
func TestEncryptedDataIsNotJoined(t *testing.T) {
	t.Parallel()
	client := serve(t, lines(
		`{"choices":[{"delta":{"content":"x","reasoning_details":[{"type":"reasoning.encrypted","data":"AAA=","index":0,"id":"1"},{"type":"reasoning.encrypted","data":"BBB=","index":0,"id":"2"}]}}]}`,
		`{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.summary","summary":"a","index":1},{"type":"reasoning.summary","summary":"b","index":1}]}}]}`,
		stop, `[DONE]`))

	reply, err := client.Complete(t.Context(), ask())

	require.NoError(t, err)
	require.JSONEq(t, `{"reasoning_details":[{"type":"reasoning.encrypted","data":"AAA=","index":0,"id":"1"},{"type":"reasoning.encrypted","data":"BBB=","index":0,"id":"2"},{"type":"reasoning.summary","summary":"ab","index":1}]}`,
		reply.Message.Opaque.Data)
}

// A signature that another endpoint of the same provider made is dropped, and the call gets the word for a call without one.
func TestForeignSignatureIsReplaced(t *testing.T) {
	t.Parallel()
	e := &teacher{status: http.StatusBadRequest, says: `[{"error":{"code":400,"message":"Corrupted thought signature.","status":"INVALID_ARGUMENT"}}]`,
		accepts: func(b map[string]any) bool {
			return fmt.Sprint(callOf(b)["extra_content"]) == "map[google:map[thought_signature:skip_thought_signature_validator]]"
		}}
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	client, err := openai.New(openai.Options{BaseURL: server.URL, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	req := rich()
	req.Messages[2].ToolCalls[0].Opaque = llm.Opaque{
		Family: strings.TrimPrefix(server.URL, "http://") + "/test", Data: `{"extra_content":{"google":{"thought_signature":"foreign"}}}`,
	}

	for range 2 {
		_, err = client.Complete(t.Context(), req)
		require.NoError(t, err)
	}

	require.Equal(t, 4, e.asked, "the client does not remember it: it is about this conversation")
}
