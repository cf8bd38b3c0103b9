package standin_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// post sends a chat request and returns the status and the body of the response.
func post(t *testing.T, server *standin.Server, body string) (int, string) {
	t.Helper()
	response, err := http.Post(server.URL+"/chat/completions", "application/json", strings.NewReader(body))
	require.NoError(t, err)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(answer)
}

func serve(t *testing.T, c llm.Client) *standin.Server {
	t.Helper()
	server := (&standin.Endpoint{Client: c}).Serve()
	t.Cleanup(server.Close)
	return server
}

const call = `{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]}`

func TestRequestsThatOpenAIWouldRefuseAreRefused(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ messages, rest, says string }{
		"no messages":         {messages: ``, says: "too short"},
		"unknown role":        {messages: `{"role":"function","content":"x"}`, says: "function"},
		"user without text":   {messages: `{"role":"user"}`, says: "messages[0].content"},
		"assistant of none":   {messages: `{"role":"assistant","content":null}`, says: "messages[0].content"},
		"empty calls":         {messages: `{"role":"assistant","content":"x","tool_calls":[]}`, says: "empty array"},
		"unanswered":          {messages: call, says: "did not have response messages: 1"},
		"answered too late":   {messages: call + `,{"role":"user","content":"x"},{"role":"tool","tool_call_id":"1","content":"x"}`, says: "did not have response messages: 1"},
		"answered twice":      {messages: call + `,{"role":"tool","tool_call_id":"1","content":"x"},{"role":"tool","tool_call_id":"1","content":"x"}`, says: "must be a response"},
		"orphan":              {messages: `{"role":"tool","tool_call_id":"1","content":"x"}`, says: "must be a response"},
		"result of no call":   {messages: call + `,{"role":"tool","tool_call_id":"2","content":"x"}`, says: "must be a response"},
		"result without text": {messages: call + `,{"role":"tool","tool_call_id":"1"}`, says: "messages[1].content"},
		"result of null":      {messages: call + `,{"role":"tool","tool_call_id":"1","content":null}`, says: "messages[1].content"},
		"result without ID":   {messages: call + `,{"role":"tool","content":"x"}`, says: "messages[1].tool_call_id"},
		"no arguments":        {messages: strings.Replace(call, `,"arguments":"{}"`, ``, 1), says: "function.arguments"},
		"empty arguments":     {messages: strings.Replace(call, `"{}"`, `""`, 1), says: "not a JSON object"},
		"arguments cut off":   {messages: strings.Replace(call, `"{}"`, `"{\"a\":"`, 1), says: "not a JSON object"},
		"arguments of a list": {messages: strings.Replace(call, `"{}"`, `"[]"`, 1), says: "not a JSON object"},
		"arguments no string": {messages: strings.Replace(call, `"{}"`, `{}`, 1), says: "could not parse"},
		"name with a dot":     {messages: strings.Replace(call, `"f"`, `"functions.f"`, 1), says: "does not match pattern"},
		"name empty":          {messages: strings.Replace(call, `"f"`, `""`, 1), says: "does not match pattern"},
		"tool twice":          {messages: `{"role":"user","content":"x"}`, rest: `,"tools":[{"type":"function","function":{"name":"f"}},{"type":"function","function":{"name":"f"}}]`, says: "unique"},
		"schema of a string":  {messages: `{"role":"user","content":"x"}`, rest: `,"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"string"}}}]`, says: "Invalid schema"},
		"choice of no tool":   {messages: `{"role":"user","content":"x"}`, rest: `,"tool_choice":"auto"`, says: "tool_choice"},
		"two limits":          {messages: `{"role":"user","content":"x"}`, rest: `,"max_tokens":1,"max_completion_tokens":1`, says: "same time"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := llmtest.Script(llmtest.Say("a"), llmtest.Say("b"))
			server := serve(t, model)

			status, body := post(t, server, `{"model":"m","messages":[`+test.messages+`]`+test.rest+`}`)

			require.Equal(t, http.StatusBadRequest, status)
			require.Contains(t, body, test.says)
			require.Contains(t, body, `"type":"invalid_request_error"`)
			require.Empty(t, model.Requests())
			require.Len(t, server.Requests(), 1, "a refused request is recorded")
		})
	}
}

func TestALenientServerLetsOddRequestsPass(t *testing.T) {
	t.Parallel()
	server := serve(t, llmtest.Script(llmtest.Say("a"), llmtest.Say("b")))
	server.Lenient = true

	status, body := post(t, server, `{"model":"m","messages":[`+call+`,{"role":"tool"}]}`)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, `"content":"b"`)

	status, _ = post(t, server, `{"model":`)
	require.Equal(t, http.StatusBadRequest, status, "what cannot be read is refused all the same")
}

func TestModelsAndUnknownPaths(t *testing.T) {
	t.Parallel()
	server := serve(t, llmtest.Script())

	for path, want := range map[string]int{"/models": http.StatusOK, "/responses": http.StatusNotFound} {
		response, err := http.Get(server.URL + path)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, want, response.StatusCode)
	}
}

// TestStream assembles a reply from a stream, as clients do.
func TestStream(t *testing.T) {
	t.Parallel()
	given := llmtest.Call(
		llmtest.ToolCall("1", "write_file", `{"path":"ü.txt","content":"日本語 <b>"}`),
		llmtest.ToolCall("2", "list_files", `{}`),
	)
	given.Message.Content = "Let me write Zürich 🏔️ down."
	given.Message.Reasoning = "The user wants a file."
	given.Usage = llm.Usage{InputTokens: 7, OutputTokens: 3}
	server := serve(t, llmtest.Script(given))

	status, body := post(t, server, `{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"x"}]}`)
	require.Equal(t, http.StatusOK, status)
	got, events := assemble(t, body)

	given.Model = "m"
	require.Equal(t, given, got)
	require.Greater(t, events, 10, "the stream comes in pieces")
	require.True(t, strings.HasSuffix(body, "data: [DONE]\n\n"))
	require.True(t, server.Requests()[0].Stream)

	_, body = post(t, server, `{"model":"m","stream":true,"messages":[{"role":"user","content":"x"}]}`)
	require.NotContains(t, body, "usage", "usage comes only when it is asked for")
}

// assemble returns the reply in a stream and the number of events with data, without [DONE].
func assemble(t *testing.T, stream string) (reply llm.Reply, events int) {
	t.Helper()
	lines := bufio.NewScanner(strings.NewReader(stream))
	for lines.Scan() {
		data, found := strings.CutPrefix(lines.Text(), "data: ")
		if !found || data == "[DONE]" {
			continue
		}
		events++
		var event struct {
			Model   string
			Choices []struct {
				Delta struct {
					Role      llm.Role
					Content   string
					Reasoning string `json:"reasoning_content"`
					ToolCalls []struct {
						Index    int
						ID       string
						Function struct{ Name, Arguments string }
					} `json:"tool_calls"`
				}
				FinishReason string `json:"finish_reason"`
			}
			Usage struct {
				PromptTokens     int `json:"prompt_tokens"`
				CompletionTokens int `json:"completion_tokens"`
			}
		}
		require.NoError(t, json.Unmarshal([]byte(data), &event))
		reply.Model = event.Model
		reply.Usage.InputTokens += event.Usage.PromptTokens
		reply.Usage.OutputTokens += event.Usage.CompletionTokens
		for _, choice := range event.Choices {
			reply.Message.Role += choice.Delta.Role
			reply.Message.Content += choice.Delta.Content
			reply.Message.Reasoning += choice.Delta.Reasoning
			reply.FinishReason += choice.FinishReason
			for _, piece := range choice.Delta.ToolCalls {
				if piece.Index == len(reply.Message.ToolCalls) {
					reply.Message.ToolCalls = append(reply.Message.ToolCalls, llm.ToolCall{})
				}
				call := &reply.Message.ToolCalls[piece.Index]
				call.ID += piece.ID
				call.Name += piece.Function.Name
				call.Arguments += piece.Function.Arguments
			}
		}
	}
	require.NoError(t, lines.Err())
	return reply, events
}

func TestErrorsCarryOpenAIsBody(t *testing.T) {
	t.Parallel()
	server := serve(t, llmtest.Script())

	status, body := post(t, server, `{"model":"m","messages":[{"role":"user","content":"x"}]}`)

	require.Equal(t, http.StatusBadRequest, status)
	require.JSONEq(t, `{"error":{"message":"the script has 0 replies, and the request asks for number 1",
		"type":"invalid_request_error","param":null,"code":null}}`, body)
}
