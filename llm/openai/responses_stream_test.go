package openai_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/openai"
)

// The data of events of the Responses API.
const (
	sunnyAdded     = `{"type":"response.output_item.added","output_index":0,"item":{"id":"msg_1","type":"message","status":"in_progress","role":"assistant","content":[]}}`
	sunnyDelta     = `{"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"content_index":0,"delta":"Sunny."}`
	sunnyItem      = `{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Sunny."}]}`
	sunnyDone      = `{"type":"response.output_item.done","output_index":0,"item":` + sunnyItem + `}`
	sunnyCompleted = `{"type":"response.completed","response":{"object":"response","status":"completed","model":"m","output":[` + sunnyItem + `],"usage":{"input_tokens":7,"input_tokens_details":{"cached_tokens":5},"output_tokens":3,"output_tokens_details":{"reasoning_tokens":2}}}}`
	emptyCompleted = `{"type":"response.completed","response":{"status":"completed","output":[]}}`
)

// replied returns the reply, the deltas and the error of a client of the Responses API that gets a response with the given Content-Type
// (kind) and body.
func replied(t *testing.T, kind string, body io.Reader) (llm.Reply, []llm.Delta, error) {
	client, err := openai.New(openai.Options{API: "responses", HTTPClient: &http.Client{Transport: canned{kind, body}}})
	require.NoError(t, err)
	req := ask()
	req.Tools = offered()
	var pieces []llm.Delta
	reply, err := client.Complete(llm.WithStream(t.Context(), func(d llm.Delta) { pieces = append(pieces, d) }), req)
	return reply, pieces, err
}

// streamOf returns the body of a stream with the given data.
func streamOf(events ...string) io.Reader {
	return strings.NewReader("data: " + strings.Join(events, "\n\ndata: ") + "\n\n")
}

func TestResponsesStreamsAreReadInEveryForm(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"as documented":        "event: response.output_item.added\ndata: " + sunnyAdded + "\n\nevent: response.output_text.delta\ndata: " + sunnyDelta + "\n\nevent: response.completed\ndata: " + sunnyCompleted + "\n\n",
		"no names":             "data: " + sunnyAdded + "\n\ndata: " + sunnyDelta + "\n\ndata: " + sunnyDone + "\n\ndata: " + sunnyCompleted + "\n\n",
		"names only":           "event: response.output_text.delta\ndata: {\"delta\":\"Sunny.\"}\n\nevent: response.completed\ndata: {}\n\n",
		"CRLF":                 "data: " + sunnyDelta + "\r\n\r\ndata: " + sunnyCompleted + "\r\n\r\n",
		"a byte order mark":    "\xef\xbb\xbfdata: " + sunnyDelta + "\n\ndata: " + sunnyCompleted + "\n\n",
		"no items at the end":  "data: " + sunnyDelta + "\n\ndata: " + emptyCompleted + "\n\n",
		"no deltas":            "data: " + sunnyDone + "\n\ndata: " + emptyCompleted + "\n\n",
		"only the last event":  "data: " + sunnyCompleted + "\n\n",
		"lines of JSON":        sunnyDelta + "\n" + sunnyCompleted + "\n",
		"unknown events":       "data: {\"type\":\"response.new\",\"delta\":\"x\"}\n\ndata: {\"type\":\"keepalive\"}\n\ndata: ping\n\ndata: " + sunnyDelta + "\n\ndata: " + sunnyCompleted + "\n\n",
		"other types":          `data: {"type":"response.output_text.delta","output_index":"0","item_id":7,"delta":"Sunny.","logprobs":{},"content_index":null}` + "\n\n" + `data: {"type":"response.completed","response":{"status":{},"output":"","usage":[],"error":null,"incomplete_details":"no"}}` + "\n\n",
		"after the end":        "data: " + sunnyCompleted + "\n\ndata: {\"type\":\"error\",\"message\":\"too late\"}\n\ndata: nonsense\n\n",
		"the mark of the end":  "data: " + sunnyAdded + "\n\ndata: " + sunnyDelta + "\n\ndata: " + sunnyDone + "\n\ndata: [DONE]\n\n",
		"both ends":            "data: " + sunnyCompleted + "\n\ndata: [DONE]\n\n",
		"a status of progress": "data: " + strings.Replace(sunnyCompleted, `"status":"completed","model"`, `"status":"in_progress","model"`, 1) + "\n\n",
		"another end":          "data: " + strings.Replace(sunnyCompleted, "response.completed", "response.done", 1) + "\n\n",
		"a response":           "data: " + output(sunnyItem) + "\n\n",
		"JSON":                 output(sunnyItem),
		"JSON with spaces":     "\n \n" + output(sunnyItem),
		"JSON, other types":    `{"output":[null,7,` + sunnyItem + `],"usage":7,"model":null,"incomplete_details":[]}`,
		"JSON, one item":       `{"output":` + sunnyItem + `}`,
		"JSON, plain content":  `{"output":[{"type":"message","content":"Sunny."}]}`,
		"JSON, one part":       `{"output":[{"type":"message","content":{"type":"text","text":"Sunny."}}]}`,
		"refusal beside text":  `{"output":[{"type":"message","content":[{"type":"refusal","refusal":"No."},{"type":"output_text","text":"Sunny."}]}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kind := "text/event-stream"
			if name == "lines of JSON" {
				kind = "application/x-ndjson"
			}
			reply, pieces, err := replied(t, kind, strings.NewReader(body))
			require.NoError(t, err)
			require.Equal(t, "Sunny.", reply.Message.Content)
			require.Equal(t, "stop", reply.FinishReason)
			require.Empty(t, reply.Message.ToolCalls)
			for _, piece := range pieces {
				require.Equal(t, llm.Delta{Text: "Sunny."}, piece)
			}
		})
	}
}

// Some proxies send no IDs, other IDs in each event, or no index.
func TestResponsesDeltasFindTheirItem(t *testing.T) {
	t.Parallel()
	added := func(members, id string) string {
		return `{"type":"response.output_item.added",` + members + `"item":{"type":"function_call","call_id":"` + id + `","name":"list_files","arguments":""}}`
	}
	delta := func(members, part string) string {
		return `{"type":"response.function_call_arguments.delta",` + members + `"delta":` + quoted(part) + `}`
	}
	for name, events := range map[string][]string{
		"indexes":                {added(`"output_index":3,`, "a"), added(`"output_index":1,`, "b"), delta(`"output_index":3,`, `{"x":`), delta(`"output_index":1,`, `{"x":2}`), delta(`"output_index":3,`, "1}")},
		"other IDs each time":    {added(`"output_index":1,`, "a"), delta(`"output_index":1,"item_id":"x",`, `{"x":`), delta(`"output_index":1,"item_id":"y",`, `1}`), added(`"output_index":2,`, "b"), delta(`"output_index":2,"item_id":"z",`, `{"x":2}`)},
		"neither":                {added(``, "a"), delta(``, `{"x":`), delta(``, "1}"), added(``, "b"), delta(``, `{"x":2}`)},
		"one index for all":      {sunnyAdded, sunnyDelta, strings.Replace(added(`"output_index":0,`, "a"), `"type":"function_call"`, `"id":"fc_1","type":"function_call"`, 1), delta(`"output_index":0,"item_id":"fc_1",`, `{"x":1}`), strings.Replace(added(`"output_index":0,`, "b"), `"type":"function_call"`, `"id":"fc_2","type":"function_call"`, 1), delta(`"output_index":0,"item_id":"fc_2",`, `{"x":2}`)},
		"one index, no IDs":      {`{"type":"response.output_item.added","output_index":0,"item":{"type":"message","content":[]}}`, sunnyDelta, added(`"output_index":0,`, "a"), delta(`"output_index":0,`, `{"x":1}`), `{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","call_id":"a","name":"list_files","arguments":"{\"x\":1}"}}`, added(`"output_index":0,`, "b"), delta(`"output_index":0,`, `{"x":2}`)},
		"no added items":         {sunnyDelta, `{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","call_id":"a","name":"list_files","arguments":"{\"x\":1}"}}`, sunnyDelta, `{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","call_id":"b","name":"list_files","arguments":"{\"x\":2}"}}`},
		"whole arguments":        {added(`"output_index":0,`, "a"), `{"type":"response.function_call_arguments.done","output_index":0,"arguments":"{\"x\":1}"}`, added(`"output_index":1,`, "b"), `{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","call_id":"b","name":"list_files","arguments":{"x":2}}}`},
		"arguments at the start": {strings.Replace(added(`"output_index":0,`, "a"), `"arguments":""`, `"arguments":"{\"x\":1}"`, 1), strings.Replace(added(`"output_index":1,`, "b"), `"arguments":""`, `"arguments":"{\"x\":2}"`, 1)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reply, pieces, err := replied(t, "text/event-stream", streamOf(append(events, emptyCompleted)...))
			require.NoError(t, err)
			want := []llm.ToolCall{{ID: "a", Name: "list_files", Arguments: `{"x":1}`}, {ID: "b", Name: "list_files", Arguments: `{"x":2}`}}
			if name == "indexes" {
				want[0], want[1] = want[1], want[0]
			}
			require.Equal(t, want, reply.Message.ToolCalls)
			require.Equal(t, "tool_calls", reply.FinishReason)
			require.Equal(t, slices.Contains(events, sunnyDelta), strings.HasPrefix(reply.Message.Content, "Sunny."))
			names, arguments := map[int]string{}, map[int]string{}
			for _, piece := range pieces {
				if piece.ToolCall != nil {
					names[piece.ToolCall.Index] += piece.ToolCall.Name
					arguments[piece.ToolCall.Index] += piece.ToolCall.Arguments
				}
			}
			require.Equal(t, map[int]string{0: "list_files", 1: "list_files"}, names)
			if name != "arguments at the start" {
				require.Equal(t, `{"x":1}`, arguments[0])
				require.Equal(t, `{"x":2}`, arguments[1])
			}
		})
	}
}

// The deltas of several texts, or of several parts of reasoning, make the text and the reasoning of the reply.
func TestResponsesDeltasMakeTheReply(t *testing.T) {
	t.Parallel()
	thought := func(item, part int, text string) string {
		return fmt.Sprintf(`{"type":"response.reasoning_summary_text.delta","output_index":%d,"summary_index":%d,"delta":%q}`, item, part, text)
	}
	reply, pieces, err := replied(t, "text/event-stream", streamOf(
		thought(0, 0, "I "), thought(0, 0, "look."), thought(0, 1, "I count."),
		`{"type":"response.output_text.delta","output_index":1,"delta":"Let me look."}`,
		`{"type":"response.reasoning_text.delta","output_index":2,"delta":"So."}`,
		`{"type":"response.output_text.delta","output_index":3,"delta":"Sun"}`,
		`{"type":"response.output_text.delta","output_index":3,"delta":"ny."}`,
		emptyCompleted,
	))
	require.NoError(t, err)
	require.Equal(t, "Let me look.\n\nSunny.", reply.Message.Content)
	require.Equal(t, "I look.\n\nI count.\n\nSo.", reply.Message.Reasoning)
	var said, thoughts string
	for _, piece := range pieces {
		said, thoughts = said+piece.Text, thoughts+piece.Reasoning
	}
	require.Equal(t, reply.Message.Content, said)
	require.Equal(t, reply.Message.Reasoning, thoughts)
}

func TestResponsesUsageIsRead(t *testing.T) {
	t.Parallel()
	want := llm.Usage{InputTokens: 7, OutputTokens: 3, CachedTokens: 5, ReasoningTokens: 2}
	reply, _, err := replied(t, "text/event-stream", streamOf(sunnyDelta, sunnyCompleted))
	require.NoError(t, err)
	require.Equal(t, want, reply.Usage)
	require.Equal(t, "m", reply.Model)

	reply, _, err = replied(t, "application/json", strings.NewReader(`{"output":[`+sunnyItem+`],"usage":{"input_tokens":7,"input_tokens_details":{"cached_tokens":5,"cache_write_tokens":1},"output_tokens":3.0,"output_tokens_details":{"reasoning_tokens":2},"cost":"1"}}`))
	require.NoError(t, err)
	want.CacheWriteTokens = 1
	require.Equal(t, want, reply.Usage)
}

func TestResponsesErrorsWithinAStreamAreErrors(t *testing.T) {
	t.Parallel()
	failed := func(code string) string {
		return `data: {"type":"response.failed","response":{"status":"failed","error":{"code":"` + code + `","message":"no luck"}}}`
	}
	for name, test := range map[string]struct {
		body  string
		class llm.Class
		wait  time.Duration
	}{
		"rate limit":             {`data: {"type":"error","code":"rate_limit_exceeded","message":"Please try again in 4.77s.","param":null,"sequence_number":3}`, llm.RateLimited, 4770 * time.Millisecond},
		"in an error object":     {`data: {"type":"error","error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"too long"}}`, llm.ContextTooLong, 0},
		"by the event's name":    {"event: error\ndata: {\"message\":\"no\",\"code\":\"server_error\"}", llm.ServerError, 0},
		"without a code":         {`data: {"type":"error","code":null,"message":"no luck"}`, llm.BadReply, 0},
		"failed":                 {failed("server_error"), llm.ServerError, 0},
		"failed, too long":       {failed("context_length_exceeded"), llm.ContextTooLong, 0},
		"failed, bad prompt":     {failed("invalid_prompt"), llm.InvalidRequest, 0},
		"failed, at the top":     {`data: {"type":"response.failed","error":{"code":"insufficient_quota","message":"no money"}}`, llm.QuotaExceeded, 0},
		"failed, not said why":   {`data: {"type":"response.failed","response":{}}`, llm.ServerError, 0},
		"cancelled":              {`data: {"type":"response.done","response":{"status":"cancelled"}}`, llm.ServerError, 0},
		"plain words":            {"event: error\ndata: upstream is gone\n", llm.BadReply, 0},
		"words without an event": {"data: out of memory", llm.BadReply, 0},
		"broken JSON":            {`data: {"type":"response.output_text.delta","delta":"x"}}`, llm.BadReply, 0},
		"a list":                 {`data: [{"type":"response.output_text.delta"}]`, llm.BadReply, 0},
		"of a proxy":             {`{"error":{"message":"bad gateway","code":502}}`, llm.ServerError, 0},
		"too much":               {`data: {"type":"response.output_text.delta","delta":"` + strings.Repeat("x", 8<<20-100) + `"}`, llm.TooLarge, 0},
		"too much in all":        {strings.Repeat(`data: {"type":"response.output_text.delta","delta":"`+strings.Repeat("x", 3<<20)+"\"}\n\n", 3), llm.TooLarge, 0},
		"too many items":         {strings.Repeat("data: {\"type\":\"response.output_item.added\",\"item\":{\"type\":\"x\"}}\n\n", 10_001), llm.TooLarge, 0},
		"too large items":        {strings.Repeat("data: {\"type\":\"response.output_item.done\",\"item\":{\"type\":\"x\",\"x\":\""+strings.Repeat("x", 7<<20)+"\"}}\n\n", 3), llm.TooLarge, 0},
		"not ended":              {"data: " + sunnyDone, llm.Connection, 0},
		"an item not ended":      {"data: " + sunnyAdded + "\n\ndata: [DONE]", llm.Connection, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := "data: " + sunnyDelta + "\n\n"
			if name == "too much" {
				start += start
				start = strings.Replace(start, "Sunny.", strings.Repeat("y", 200), 1)
			}
			_, _, err := replied(t, "text/event-stream", strings.NewReader(start+test.body+"\n\n"))
			var told *llm.Error
			require.ErrorAs(t, err, &told)
			require.Equal(t, test.class, told.Class, "%v", err)
			require.Equal(t, test.wait, told.RetryAfter)
		})
	}
}

// A response in the form of another API means that the URL or the option API is wrong.
func TestResponsesInTheFormOfAnotherAPIAreNamed(t *testing.T) {
	t.Parallel()
	for kind, body := range map[string]string{
		"application/json":  `{"object":"chat.completion","choices":[{"message":{"content":"Sunny."},"finish_reason":"stop"}]}`,
		"text/event-stream": "data: " + text("Sunny.") + "\n\ndata: " + stop + "\n\ndata: [DONE]\n\n",
	} {
		_, _, err := replied(t, kind, strings.NewReader(body))
		require.ErrorIs(t, err, &llm.Error{Class: llm.NotFound})
		require.ErrorContains(t, err, "OpenAI's chat completions API")
	}
}

// The limits of time are those of a stream of chat completions.
func TestResponsesStreamThatGoesSilentIsGivenUp(t *testing.T) {
	t.Parallel()
	edit := func(o *openai.Options) { o.API = "responses" }
	_, took, err := within(t, time.Hour, time.Minute, 0, func(say func(string), pause func(time.Duration)) {
		say("data: " + sunnyAdded + "\n\n")
		pause(50 * time.Minute) // a model may think
		say("data: " + sunnyDelta + "\n\n")
		pause(50 * time.Second)
		say(": keep-alive\n\n")
		pause(time.Hour)
	}, edit)
	require.ErrorIs(t, err, &llm.Error{Class: llm.Connection})
	require.ErrorContains(t, err, "the endpoint sent nothing for 1m0s")
	require.Equal(t, 50*time.Minute+110*time.Second, took)

	_, took, err = within(t, 10*time.Minute, time.Minute, 0, func(say func(string), pause func(time.Duration)) {
		for range 100 {
			say("data: {\"type\":\"response.in_progress\"}\n\n")
			pause(30 * time.Second)
		}
	}, edit)
	require.ErrorContains(t, err, "no complete response within 10m0s")
	require.Equal(t, 10*time.Minute, took)

	reply, _, err := within(t, 2*time.Minute, time.Minute, 0, func(say func(string), pause func(time.Duration)) {
		for i := range 10 { // reasoning without a summary
			say(fmt.Sprintf("data: {\"type\":\"response.output_item.done\",\"output_index\":%d,\"item\":%s}\n\n", i, reasoned2))
			pause(90 * time.Second)
		}
		say("data: " + sunnyCompleted + "\n\n")
	}, edit)
	require.NoError(t, err)
	require.Equal(t, "Sunny.", reply.Message.Content)

	reply, took, err = within(t, 2*time.Minute, time.Minute, 0, func(say func(string), pause func(time.Duration)) {
		for range 100 {
			say("data: " + sunnyDelta + "\n\n")
			pause(30 * time.Second)
		}
		say("data: " + emptyCompleted + "\n\n")
		pause(time.Hour)
	}, edit)
	require.NoError(t, err)
	require.Len(t, reply.Message.Content, 600)
	require.Equal(t, 50*time.Minute+5*time.Second, took)
}
