package openai_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
	"github.com/reagent-dev/reagent/llm/openai"
)

// text returns the data of an event with the given text.
func text(s string) string {
	return `{"choices":[{"index":0,"delta":{"content":` + quoted(s) + `},"finish_reason":null}]}`
}

func quoted(s string) string {
	encoded, _ := json.Marshal(s)
	return string(encoded)
}

const stop = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`

// stream returns a handler that sends a body as an event stream.
func stream(body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, body)
	})
}

// lines returns a handler that sends an event stream with one line of data for each event.
func lines(events ...string) http.Handler {
	return stream("data: " + strings.Join(events, "\n\ndata: ") + "\n\n")
}

func TestStreamsAreReadInEveryForm(t *testing.T) {
	t.Parallel()
	sunny, long := text("Sunny."), strings.Repeat("x", 100_000)
	for name, test := range map[string]struct{ body, want string }{
		"LF":                    {"data: " + sunny + "\n\ndata: " + stop + "\n\n", "Sunny."},
		"CRLF":                  {"data: " + sunny + "\r\n\r\ndata: " + stop + "\r\n\r\n", "Sunny."},
		"CR":                    {"data: " + sunny + "\r\rdata: " + stop + "\r\r", "Sunny."},
		"byte order mark":       {"\xef\xbb\xbfdata: " + sunny + "\n\ndata: " + stop + "\n\n", "Sunny."},
		"no end of line":        {"data: " + sunny + "\n\ndata: " + stop, "Sunny."},
		"no space":              {"data:" + sunny + "\n\ndata:" + stop + "\n\n", "Sunny."},
		"comments":              {strings.Repeat(": keep-alive\n\n", 5000) + "data: " + sunny + "\n\n:\n:" + long + "\n\ndata: " + stop + "\n\n", "Sunny."},
		"a huge comment":        {":" + strings.Repeat(long, 100) + "\ndata: " + sunny + "\n\ndata: " + stop + "\n\n", "Sunny."},
		"empty data":            {"data:" + "\n\ndata: " + sunny + "\n\ndata: " + "\n\ndata: " + stop + "\n\n", "Sunny."},
		"pings":                 {"event: ping\ndata: {\"type\":\"ping\"}\n\ndata: " + sunny + "\n\ndata: " + stop + "\n\n", "Sunny."},
		"data over lines":       {"data: {\"choices\":[{\"delta\":\ndata: {\"content\":\"Sunny.\"},\ndata: \"finish_reason\":\"stop\"}]}\n\n", "Sunny."},
		"data over CRLF lines":  {"data: {\"choices\":[{\"delta\":\r\ndata: {\"content\":\"Sunny.\"},\r\ndata: \"finish_reason\":\"stop\"}]}\r\n\r\n", "Sunny."},
		"a long line":           {"data: " + text(long) + "\n\ndata: " + stop + "\n\n", long},
		"after the end":         {"data: " + sunny + "\n\ndata: " + stop + "\n\ndata: {\"error\":{\"code\":500}}\n\ndata: nonsense\n\n", "Sunny."},
		"one whole message":     {`data: {"choices":[{"index":0,"message":{"role":"assistant","content":"Sunny."},"finish_reason":"stop"}]}` + "\n\n", "Sunny."},
		"message beside deltas": {`data: {"choices":[{"delta":{"content":"Sun"},"message":{"content":"Sun"}}]}` + "\n\n" + `data: {"choices":[{"delta":{"content":"ny."},"message":{"content":"Sunny."},"finish_reason":"stop"}]}` + "\n\n", "Sunny."},
		"message at the end":    {"data: " + sunny + "\n\n" + `data: {"choices":[{"message":{"content":"Sunny."},"finish_reason":"stop"}]}` + "\n\n", "Sunny."},
		"another choice":        {"data: " + sunny + "\n\n" + `data: {"choices":[{"index":1,"delta":{"content":"Rainy."}}]}` + "\n\ndata: " + stop + "\n\n", "Sunny."},
		"an earlier choice":     {`data: {"choices":[{"index":1,"delta":{"content":"Rainy.","tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}}]}` + "\n\ndata: " + sunny + "\n\ndata: " + stop + "\n\n", "Sunny."},
		"words":                 {"data: ping\n\ndata: " + sunny + "\n\nevent: beat\ndata: alive\n\ndata: " + stop + "\n\n", "Sunny."},
		"audio":                 {`data: {"choices":[{"delta":{"audio":"x"}}]}` + "\n\n" + `data: {"choices":[{"delta":{"content":null,"audio":{"transcript":"Sunny."}}}]}` + "\n\ndata: " + stop + "\n\n", "Sunny."},
		"a think block":         {"data: " + text("<think>hm") + "\n\ndata: " + text("</think>Sunny.") + "\n\ndata: " + stop + "\n\n", "Sunny."},
		"JSON":                  {"\n \n" + `{"choices":[{"message":{"content":"Sunny."},"finish_reason":"stop"}]}`, "Sunny."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reply, err := serve(t, stream(test.body)).Complete(t.Context(), ask())
			require.NoError(t, err)
			require.Equal(t, test.want, reply.Message.Content)
			require.Empty(t, reply.Message.ToolCalls)
		})
	}
}

func TestPiecesOfCallsFindTheirCall(t *testing.T) {
	t.Parallel()
	calls := func(pieces ...string) http.Handler {
		events := make([]string, 0, len(pieces)+1)
		for _, p := range pieces {
			events = append(events, `{"choices":[{"delta":{"tool_calls":[`+p+`]}}]}`)
		}
		return lines(append(events, stop)...)
	}
	for name, test := range map[string]struct {
		pieces []string
		want   []llm.ToolCall
	}{
		"one ID at two indexes": {
			[]string{`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`, `{"index":1,"id":"a","function":{"name":"g","arguments":"{}"}}`},
			[]llm.ToolCall{{ID: "a", Name: "f", Arguments: "{}"}, {ID: "call_1", Name: "g", Arguments: "{}"}},
		},
		"no index, pieces by ID": {
			[]string{`{"id":"a","function":{"name":"f","arguments":"{\"x\""}}`, `{"id":"b","function":{"name":"f","arguments":"{\"x\""}}`,
				`{"id":"a","function":{"arguments":":1}"}}`, `{"id":"b","function":{"arguments":":2}"}}`},
			[]llm.ToolCall{{ID: "a", Name: "f", Arguments: `{"x":1}`}, {ID: "b", Name: "f", Arguments: `{"x":2}`}},
		},
		"no index, pieces by place": {
			[]string{`{"id":"a","function":{"name":"f"}},{"id":"b","function":{"name":"g"}}`, `{"function":{"arguments":"{\"x\":1}"}},{"function":{"arguments":"{\"x\":2}"}}`},
			[]llm.ToolCall{{ID: "a", Name: "f", Arguments: `{"x":1}`}, {ID: "b", Name: "g", Arguments: `{"x":2}`}},
		},
		"no index and no ID": {
			[]string{`{"function":{"name":"f","arguments":"{}"}}`, `{"function":{"name":"f","arguments":"{}"}}`, `{"function":{"name":"g"}}`, `{"function":{"arguments":"{}"}}`},
			[]llm.ToolCall{{ID: "call_0", Name: "f", Arguments: "{}"}, {ID: "call_1", Name: "f", Arguments: "{}"}, {ID: "call_2", Name: "g", Arguments: "{}"}},
		},
		"the name with every piece, no ID": {
			[]string{`{"index":0,"function":{"name":"f","arguments":"{\"x\":"}}`, `{"index":0,"function":{"name":"f","arguments":"{}"}}`, `{"index":0,"function":{"name":"f","arguments":"}"}}`},
			[]llm.ToolCall{{ID: "call_0", Name: "f", Arguments: `{"x":{}}`}},
		},
		"a name in pieces, or longer each time": {
			[]string{`{"index":0,"id":"a","function":{"name":"get_"}}`, `{"index":0,"function":{"name":"weather"}}`,
				`{"index":1,"id":"b","function":{"name":"list"}}`, `{"index":1,"function":{"name":"list_files","arguments":"{}"}}`, `{"index":0,"function":{"arguments":"{}"}}`},
			[]llm.ToolCall{{ID: "a", Name: "get_weather", Arguments: "{}"}, {ID: "b", Name: "list_files", Arguments: "{}"}},
		},
		"another ID in each piece": {
			[]string{`{"index":0,"id":"a","function":{"name":"f","arguments":""}}`, `{"index":0,"id":"b","function":{"arguments":"{\"x\":"}}`, `{"index":0,"id":"c","function":{"arguments":"1}"}}`,
				`{"index":0,"id":"d","function":{"arguments":"{}"}}`, `{"index":0,"id":"d","function":{"name":"g"}}`},
			[]llm.ToolCall{{ID: "a", Name: "f", Arguments: `{"x":1}`}, {ID: "d", Name: "g", Arguments: "{}"}},
		},
		"names of two tools at one index": {
			[]string{`{"index":0,"function":{"name":"list_files","arguments":""}}`, `{"index":0,"function":{"name":"get_weather","arguments":"{}"}}`},
			[]llm.ToolCall{{ID: "call_0", Name: "list_files", Arguments: "{}"}, {ID: "call_1", Name: "get_weather", Arguments: "{}"}},
		},
		"a name in parts that are names of tools": {
			[]string{`{"index":0,"function":{"name":"shell"}}`, `{"index":0,"function":{"name":"list_files","arguments":"{}"}}`},
			[]llm.ToolCall{{ID: "call_0", Name: "shelllist_files", Arguments: "{}"}},
		},
		"arguments as an object": {
			[]string{`{"index":"0","id":"a","function":{"name":"f","arguments":{"x":1}}}`},
			[]llm.ToolCall{{ID: "a", Name: "f", Arguments: `{"x":1}`}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := ask()
			req.Tools = offered()
			if strings.Contains(name, "in parts") {
				req.Tools = append(req.Tools, llm.ToolSpec{Name: "shelllist_files"})
			}
			reply, err := serve(t, calls(test.pieces...)).Complete(t.Context(), req)
			require.NoError(t, err)
			require.Equal(t, test.want, reply.Message.ToolCalls)
		})
	}

	reply, err := serve(t, lines(`{"choices":[{"delta":{"function_call":{"name":"f","arguments":"{\"x\":"}}}]}`,
		`{"choices":[{"delta":{"function_call":{"arguments":"1}"}},"finish_reason":"function_call"}]}`)).Complete(t.Context(), ask())
	require.NoError(t, err)
	require.Equal(t, []llm.ToolCall{{ID: "call_0", Name: "f", Arguments: `{"x":1}`}}, reply.Message.ToolCalls)
}

func TestUsageOfAStreamIsTheLastCount(t *testing.T) {
	t.Parallel()
	for name, usage := range map[string]string{
		"at the end":    `"usage":{"prompt_tokens":7,"completion_tokens":3}`,
		"Groq's":        `"x_groq":{"usage":{"prompt_tokens":7,"completion_tokens":3}}`,
		"then nothing":  `"usage":{"prompt_tokens":7,"completion_tokens":3}}` + "\n\ndata: " + `{"usage":null`,
		"then zeros":    `"usage":{"prompt_tokens":7,"completion_tokens":3}}` + "\n\ndata: " + `{"usage":{}`,
		"other details": `"usage":{"prompt_tokens":7,"completion_tokens":3,"cost":"0.1","prompt_tokens_details":null}`,
	} {
		reply, err := serve(t, lines(`{"choices":[{"delta":{"content":"x"}}],"usage":{"prompt_tokens":7,"completion_tokens":1}}`, stop,
			`{"choices":[],`+usage+`}`, "[DONE]")).Complete(t.Context(), ask())
		require.NoError(t, err, name)
		require.Equal(t, llm.Usage{InputTokens: 7, OutputTokens: 3}, reply.Usage, name)
	}
}

// Providers count in different ways. Output tokens include the reasoning, and cached tokens are a part of the input tokens.
func TestUsageIsCountedInOneWay(t *testing.T) {
	t.Parallel()
	for usage, want := range map[string]llm.Usage{
		`{"prompt_tokens":7,"completion_tokens":5,"total_tokens":12,"completion_tokens_details":{"reasoning_tokens":2}}`: {InputTokens: 7, OutputTokens: 5, ReasoningTokens: 2},
		`{"prompt_tokens":7,"completion_tokens":3,"total_tokens":12,"completion_tokens_details":{"reasoning_tokens":2}}`: {InputTokens: 7, OutputTokens: 5, ReasoningTokens: 2},
		`{"prompt_tokens":7,"completion_tokens":3,"total_tokens":12}`:                                                    {InputTokens: 7, OutputTokens: 5, ReasoningTokens: 2},
		`{"prompt_tokens":7,"completion_tokens":3}`:                                                                      {InputTokens: 7, OutputTokens: 3},
		`{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10,"cached_tokens":4}`:                                  {InputTokens: 7, OutputTokens: 3, CachedTokens: 4},
		`{"prompt_tokens":7,"completion_tokens":3,"prompt_cache_hit_tokens":4}`:                                          {InputTokens: 7, OutputTokens: 3, CachedTokens: 4},
	} {
		whole := `{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}],"usage":` + usage + `}`
		inChoice := `{"choices":[{"message":{"content":"x"},"finish_reason":"stop","usage":` + usage + `}]}`
		atEnd := stream("data: " + text("x") + "\n\ndata: " + stop + "\n\ndata: {\"choices\":[],\"usage\":" + usage + "}\n\ndata: [DONE]\n\n")
		ofChoice := stream("data: " + text("x") + "\n\ndata: " + `{"choices":[{"delta":{},"finish_reason":"stop","usage":` + usage + `}]}` + "\n\ndata: [DONE]\n\n")
		write := func(body string) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
		}
		for i, handler := range []http.Handler{write(whole), write(inChoice), atEnd, ofChoice} {
			reply, err := serve(t, handler).Complete(t.Context(), ask())
			require.NoError(t, err)
			require.Equal(t, want, reply.Usage, "%s, form %d", usage, i)
		}
	}
}

func TestErrorsWithinAStreamAreErrors(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		body  string
		class llm.Class
		wait  time.Duration
	}{
		"rate limit":      {`data: {"error":{"code":429,"message":"Please try again in 4.77s."}}`, llm.RateLimited, 4770 * time.Millisecond},
		"a field":         {`data: {"error":{"code":429,"message":"slow","retry_after":3}}`, llm.RateLimited, 3 * time.Second},
		"Google's":        {`data: {"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"@type":"x"},{"retryDelay":"37s"}]}}`, llm.RateLimited, 37 * time.Second},
		"in the choice":   {`data: {"choices":[{"delta":{"content":""},"finish_reason":"error","error":{"code":502,"message":"gone"}}]}`, llm.ServerError, 0},
		"by finish alone": {`data: {"choices":[{"delta":{"content":""},"finish_reason":"error"}]}`, llm.ServerError, 0},
		"by event alone":  {"event: error\ndata: {\"message\":\"no\",\"type\":\"overloaded_error\"}\n", llm.Overloaded, 0},
		"plain words":     {"event: error\ndata: upstream is gone\n", llm.BadReply, 0},
		"of a proxy":      {`{"error":{"message":"bad gateway","code":502}}`, llm.ServerError, 0},
		"quota":           {`data: {"error":{"code":"insufficient_quota","message":"no money"}}`, llm.QuotaExceeded, 0},
		"filter":          {`data: {"choices":[{"delta":{},"finish_reason":"content_filter"}]}`, llm.Overloaded, 0},
		"no value":        {`data: "x"`, llm.BadReply, 0},
		"too much":        {"data: " + text(strings.Repeat("x", 8<<20)), llm.TooLarge, 0},
		"too many calls":  {"data: " + callsAtOnce(10_001), llm.TooLarge, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := "data: " + text("The wea") + "\n\n"
			if name == "filter" {
				start, test.class = "", llm.Filtered
			}
			client := serve(t, stream(start+test.body+"\n\ndata: [DONE]\n\n"))

			_, err := client.Complete(t.Context(), ask())

			var told *llm.Error
			require.ErrorAs(t, err, &told)
			require.Equal(t, test.class, told.Class, "%v", err)
			require.Equal(t, test.wait, told.RetryAfter)
		})
	}
}

// callsAtOnce returns the data of an event with as many calls as the parameter n says.
func callsAtOnce(n int) string {
	calls := make([]string, n)
	for i := range calls {
		calls[i] = fmt.Sprintf(`{"index":%d,"id":"c%d","function":{"name":"look","arguments":"{}"}}`, i, i)
	}
	return `{"choices":[{"delta":{"tool_calls":[` + strings.Join(calls, ",") + `]},"finish_reason":null}]}`
}

// The client must not read an endless line completely into memory.
func TestALineThatDoesNotEndIsNotReadWhole(t *testing.T) {
	t.Parallel()
	var written atomic.Int64
	client := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, err := io.WriteString(w, "data: ")
		for chunk := strings.Repeat("x", 1<<20); err == nil && written.Load() < 64<<20; written.Add(1 << 20) {
			_, err = io.WriteString(w, chunk)
		}
	}))

	_, err := client.Complete(t.Context(), ask())

	require.ErrorIs(t, err, &llm.Error{Class: llm.TooLarge})
	require.Less(t, written.Load(), int64(32<<20))
}

// The header Retry-After also applies to the errors of a streamed response.
func TestRetryAfterCountsAlsoWhenStreaming(t *testing.T) {
	t.Parallel()
	for status, body := range map[int]string{429: "", 503: "event: error\ndata: {}\n\n", 200: "data: {\"error\":{\"code\":429}}\n\n"} {
		client := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}))

		_, err := client.Complete(t.Context(), ask())

		var told *llm.Error
		require.ErrorAs(t, err, &told)
		require.Equal(t, 7*time.Second, told.RetryAfter, "%v", err)
		require.True(t, told.Class.Retryable())
	}
}

func TestErrorsWithinAStreamNeverHoldTheKey(t *testing.T) {
	t.Parallel()
	for _, event := range []string{
		"data: {\"error\":{\"message\":\"bad key %s\",\"code\":\"%[1]s\"}}", "event: error\ndata: bad key %s", "data: {bad key %s",
		"data: {\"choices\":\"%s\"}", "{\"error\":\"%s\"}",
	} {
		client := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, event+"\n\n", strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		}))

		_, err := client.Complete(t.Context(), ask())

		require.Error(t, err)
		for ; err != nil; err = unwrap(err) {
			require.NotContains(t, err.Error(), "sk-very", event)
		}
	}
}

// If an endpoint could not read a model's tool call, the client returns the call in a reply. The agent then runs the call or refuses
// it with an error result that the model can read.
func TestACallThatTheEndpointRefusedIsACall(t *testing.T) {
	t.Parallel()
	const refusal = `{"error":{"message":"did not match schema","code":"tool_use_failed","failed_generation":%s}}`
	known, unknown := fmt.Sprintf(refusal, quoted(`{"name":"list_files","arguments":{"x":1}}`)), fmt.Sprintf(refusal, quoted("no call"))
	req := ask()
	req.Tools = []llm.ToolSpec{{Name: "list_files"}}

	reply, err := serve(t, lines(text("x"), known)).Complete(t.Context(), req)
	require.NoError(t, err)
	require.Equal(t, []llm.ToolCall{{ID: "call_0", Name: "list_files", Arguments: `{"x":1}`}}, reply.Message.ToolCalls)
	require.Contains(t, reply.Repaired[0], "did not match schema")

	_, err = serve(t, lines(unknown)).Complete(t.Context(), req)
	require.ErrorIs(t, err, &llm.Error{Class: llm.BadReply})
}

func TestRepairsAreTold(t *testing.T) {
	t.Parallel()
	far := llmtest.Call(llmtest.ToolCall("1", "Get-Weather", "```\n{}\n```"))
	req := ask()
	req.Tools = []llm.ToolSpec{{Name: "get_weather"}}

	reply, err := serve(t, llmtest.Handler(llmtest.Script(far))).Complete(t.Context(), req)

	require.NoError(t, err)
	require.Equal(t, []string{`the name "Get-Weather" is now "get_weather"`, "the arguments of get_weather were in a code fence"}, reply.Repaired)
}

func TestReasoningIsSentBackWithinTheTurnWhereItIsWanted(t *testing.T) {
	t.Parallel()
	endpoint := &standin.Endpoint{Client: llmtest.Func(llmtest.Script(llmtest.Say(""), llmtest.Say(""), llmtest.Say("Hi.")).Complete)}
	client := serve(t, endpoint, func(o *openai.Options) { o.Reasoning.Send = openai.WithinTurn })
	req := ask()
	req.Messages = append(req.Messages,
		llm.Message{Role: llm.Assistant, Content: "Sunny.", Reasoning: "an old thought"},
		llm.Message{Role: llm.User, Content: "And in Rome?"},
		llm.Message{Role: llm.Assistant, Reasoning: "a new thought", ToolCalls: []llm.ToolCall{{ID: "1", Name: "f", Arguments: "{}"}}},
		llm.Message{Role: llm.Tool, ToolCallID: "1", Content: "Rain."},
	)

	_, err := client.Complete(t.Context(), req)

	require.NoError(t, err)
	body := string(endpoint.Requests()[0].Body)
	require.Contains(t, body, `"reasoning_content":"a new thought"`)
	require.NotContains(t, body, "an old thought")
}

// A word that is not JSON may be the only thing that an endpoint says about its failure.
func TestWordInAnIncompleteStreamIsInTheError(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"data: out of memory\n\n", "data: " + text("Sun") + "\n\ndata: out of memory\n\n", "data: out of memory\n\ndata: [DONE]\n\n"} {
		_, err := serve(t, stream(body)).Complete(t.Context(), ask())
		var told *llm.Error
		require.ErrorAs(t, err, &told)
		require.Equal(t, llm.BadReply, told.Class)
		require.Contains(t, told.Message, "out of memory")
	}
}
