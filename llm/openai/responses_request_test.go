package openai_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// sentItems returns the body that the Responses API gets for a request, and the items of its input. The API must accept the request.
func sentItems(t *testing.T, req llm.Request) (body map[string]json.RawMessage, items []string) {
	t.Helper()
	endpoint := &standin.Endpoint{Client: llmtest.Func(always(llmtest.Say("Hi.")))}
	_, err := serve(t, endpoint, responses).Complete(t.Context(), req)
	require.NoError(t, err)
	require.Len(t, endpoint.Requests(), 1)
	return decoded(t, endpoint.Requests()[0].Body)
}

// decoded returns the members of a request's body, and the items of its input.
func decoded(t *testing.T, encoded []byte) (body map[string]json.RawMessage, items []string) {
	t.Helper()
	require.NoError(t, json.Unmarshal(encoded, &body))
	var raw []json.RawMessage
	require.NoError(t, json.Unmarshal(body["input"], &raw))
	for _, item := range raw {
		items = append(items, string(item))
	}
	return body, items
}

// after returns a request with messages after the question.
func after(messages ...llm.Message) llm.Request {
	req := ask()
	req.Messages = append(req.Messages, messages...)
	return req
}

func TestResponsesRequestHasOnlyWhatItNeeds(t *testing.T) {
	t.Parallel()
	body, items := sentItems(t, ask())
	require.Len(t, body, 5)
	require.Equal(t, `"test-model"`, string(body["model"]))
	require.Equal(t, "true", string(body["stream"]))
	require.Equal(t, "false", string(body["store"]))
	require.Equal(t, `["reasoning.encrypted_content"]`, string(body["include"]))
	require.Equal(t, []string{`{"type":"message","role":"user","content":"How is the weather?"}`}, items)
}

func TestResponsesRequestHasTheParameters(t *testing.T) {
	t.Parallel()
	req := ask()
	zero, seed, parallel := 0.0, 7, false
	req.Tools = []llm.ToolSpec{
		{Name: "a", Parameters: json.RawMessage(`{"type":"object"}`)},
		{Name: "b", Parameters: json.RawMessage(`{"type":"object","properties":{"x":{"maximum":9007199254740993}}}`)},
		{Name: "c"},
	}
	req.Params = llm.Params{
		Temperature: &zero, TopP: &zero, Seed: &seed, ParallelToolCalls: &parallel, MaxOutputTokens: 100, ToolChoice: "a", ReasoningEffort: "low",
		OutputSchema: json.RawMessage(`{"type":"object","required":["x"],"properties":{}}`),
		Extra: map[string]json.RawMessage{
			"reasoning": json.RawMessage(`{"summary":"auto"}`), "text": json.RawMessage(`{"verbosity":"low"}`), "service_tier": json.RawMessage(`"flex"`),
		},
	}
	body, _ := sentItems(t, req)
	for name, want := range map[string]string{
		"temperature": "0", "top_p": "0", "parallel_tool_calls": "false", "max_output_tokens": "100", "service_tier": `"flex"`,
		"tool_choice": `{"name":"a","type":"function"}`,
		"reasoning":   `{"effort":"low","summary":"auto"}`,
		"text":        `{"format":{"type":"json_schema","name":"answer","schema":{"type":"object","required":["x"],"properties":{}},"strict":false},"verbosity":"low"}`,
		"tools": `[{"type":"function","name":"a","parameters":{"type":"object","properties":{}},"strict":false},` +
			`{"type":"function","name":"b","parameters":{"type":"object","properties":{"x":{"maximum":9007199254740993}}},"strict":false},` +
			`{"type":"function","name":"c","parameters":{"type":"object","properties":{}},"strict":false}]`,
	} {
		require.Equal(t, want, string(body[name]), name)
	}
	require.NotContains(t, body, "seed")
}

func TestResponsesToolChoiceIsNotSentWithoutTools(t *testing.T) {
	t.Parallel()
	parallel := true
	req := ask()
	req.Params = llm.Params{ToolChoice: "required", ParallelToolCalls: &parallel}
	body, _ := sentItems(t, req)
	require.NotContains(t, body, "tool_choice")
	require.NotContains(t, body, "parallel_tool_calls")
}

func TestResponsesExtraParametersThatWouldChangeTheRequestAreRefused(t *testing.T) {
	t.Parallel()
	client := serve(t, http.NotFoundHandler(), responses)
	for _, name := range []string{"input", "store", "stream", "include", "previous_response_id", "tools", "top_k"} {
		req := ask()
		req.Params.Extra = map[string]json.RawMessage{name: json.RawMessage("true")}
		if name == "top_k" {
			req.Params.Extra[name] = json.RawMessage("{")
		}
		_, err := client.Complete(t.Context(), req)
		require.ErrorIs(t, err, &llm.Error{Class: llm.InvalidRequest})
		require.ErrorContains(t, err, name)
	}
}

// Each message of a conversation becomes items that the API accepts. Required fields are there even if they are empty.
func TestResponsesRequestHasTheConversation(t *testing.T) {
	t.Parallel()
	req := ask()
	req.Messages = []llm.Message{
		{Role: llm.System, Content: "Be brief. <b>"},
		{Role: llm.User},
		{Role: llm.Assistant, Content: "One moment.", ToolCalls: []llm.ToolCall{{ID: "a", Name: "f", Arguments: "{}"}, {ID: "b", Name: "g", Arguments: `{ "x":1e400}`}}},
		{Role: llm.Tool, ToolCallID: "b"},
		{Role: llm.Tool, ToolCallID: "a", Content: "See:", Parts: []llm.Part{{Type: "image", URL: "data:image/png;base64,AA"}}},
		{Role: llm.Assistant},
		{Role: llm.User, Content: "And this?", Parts: []llm.Part{{Type: "text"}, {Type: "image", URL: "https://example.com/a.png"}}},
	}
	body, items := sentItems(t, req)
	require.Equal(t, `"Be brief. <b>"`, string(body["instructions"]))
	require.Equal(t, []string{
		`{"type":"message","role":"user","content":""}`,
		`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"One moment."}]}`,
		`{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}`,
		`{"type":"function_call","call_id":"b","name":"g","arguments":"{ \"x\":1e400}"}`,
		`{"type":"function_call_output","call_id":"b","output":""}`,
		`{"type":"function_call_output","call_id":"a","output":[{"type":"input_text","text":"See:"},{"type":"input_image","image_url":"data:image/png;base64,AA"}]}`,
		`{"type":"message","role":"assistant","content":[{"type":"output_text","text":""}]}`,
		`{"type":"message","role":"user","content":[{"type":"input_text","text":"And this?"},{"type":"input_text","text":""},{"type":"input_image","image_url":"https://example.com/a.png"}]}`,
	}, items)
}

// An endpoint can cache the beginning of a conversation only if it is always sent with the same bytes.
func TestResponsesPrefixDoesNotChange(t *testing.T) {
	t.Parallel()
	call := func(id string) []llm.Message {
		return []llm.Message{
			{Role: llm.Assistant, Content: "Again.", ToolCalls: []llm.ToolCall{{ID: id, Name: "f", Arguments: "{}"}}},
			{Role: llm.Tool, ToolCallID: id, Content: "ok"},
		}
	}
	var messages []llm.Message
	before := []string{}
	for range 4 {
		for _, id := range []string{"call_0", strings.Repeat("x", 70), "call_0_2"} {
			messages = append(messages, call(id)...)
			_, items := sentItems(t, after(messages...))
			require.Equal(t, before, items[:len(before)])
			before = items
		}
	}
}

// The API refuses long call IDs, and IDs that are in two calls. The ID of a result is always the one of its call.
func TestResponsesCallIDsAreShortAndUnique(t *testing.T) {
	t.Parallel()
	for _, ids := range [][]string{
		{strings.Repeat("a", 64)}, {strings.Repeat("a", 65)}, {strings.Repeat("ü", 64)}, {"functions.f:0"},
		{strings.Repeat("a", 65), strings.Repeat("a", 66), strings.Repeat("a", 65)},
		{"a", "a_2", "a", "a"}, {strings.Repeat("a", 64), strings.Repeat("a", 64), strings.Repeat("a", 64)},
	} {
		var messages []llm.Message
		for _, id := range ids {
			messages = append(messages,
				llm.Message{Role: llm.Assistant, ToolCalls: []llm.ToolCall{{ID: id, Name: "f", Arguments: "{}"}, {ID: id + "other", Name: "f", Arguments: "{}"}}},
				llm.Message{Role: llm.Tool, ToolCallID: id + "other", Content: "no"},
				llm.Message{Role: llm.Tool, ToolCallID: id, Content: "ok"})
		}
		_, items := sentItems(t, after(messages...)) // the stand-in checks the IDs
		for at := 1; at < len(items); at += 4 {
			var first, other, no, ok struct {
				CallID string `json:"call_id"`
				Output string
			}
			for i, item := range []any{&first, &other, &no, &ok} {
				require.NoError(t, json.Unmarshal([]byte(items[at+i]), item))
			}
			require.Equal(t, []string{first.CallID, other.CallID}, []string{ok.CallID, no.CallID})
			require.Equal(t, "ok", ok.Output)
		}
	}

	_, items := sentItems(t, after(
		llm.Message{Role: llm.Assistant, ToolCalls: []llm.ToolCall{{ID: strings.Repeat("a", 64), Name: "f", Arguments: "{}"}}},
		llm.Message{Role: llm.Tool, ToolCallID: strings.Repeat("a", 64), Content: "ok"}))
	require.Contains(t, items[1], strings.Repeat("a", 64), "an ID that the API accepts is not changed")
}
