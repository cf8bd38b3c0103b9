package openai_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/openai"
)

func TestAttackResponsesEndpointThatSaysTheKeyBack(t *testing.T) {
	t.Parallel()
	for name, form := range forms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			word, err := json.Marshal("<" + form + ">")
			require.NoError(t, err)
			arguments, err := json.Marshal(fmt.Sprintf(`{"a":%s}`, word))
			require.NoError(t, err)
			ask := func(body string) (llm.Reply, error) {
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }))
				defer server.Close()
				client, err := openai.New(openai.Options{API: "responses", BaseURL: server.URL, APIKey: leaked})
				require.NoError(t, err)
				req := ask()
				req.Tools = []llm.ToolSpec{{Name: "f"}}
				return client.Complete(t.Context(), req)
			}
			reply, err := ask(fmt.Sprintf(`{"model":%[1]s,"output":[{"type":"reasoning","summary":[%[1]s],"encrypted_content":%[1]s},{"type":"message","content":%[1]s},
				{"type":"function_call","call_id":%[1]s,"name":"f","arguments":%[2]s}]}`, word, arguments))
			require.NoError(t, err)
			stored, err := json.Marshal(reply)
			require.NoError(t, err)
			require.NotContains(t, string(stored), form)
			require.Contains(t, reply.Message.Content, "[hidden]")
			require.Contains(t, reply.Message.ToolCalls[0].Arguments, "[hidden]")

			for _, body := range []string{
				`{"error":{"message":%[1]s,"code":%[1]s}}`, `{"status":"failed","error":%[1]s}`, `{"status":"incomplete","incomplete_details":{"reason":%[1]s}}`,
				"event: error\ndata: %[1]s\n\n", "data: {\"type\":\"response.failed\",\"response\":{\"error\":{\"message\":%[1]s}}}\n\n", "data: {%[1]s\n\n", `{%[1]s`,
				`{"model":%[1]s,"output":[]}`,
			} {
				_, err := ask(fmt.Sprintf(body, word))
				var told *llm.Error
				require.ErrorAs(t, err, &told)
				require.NotContains(t, fmt.Sprintf("%+v %v", *told, told.Err), form)
			}
		})
	}
}

// The client must not read an endless response completely into memory.
func TestAttackResponsesEndpointThatNeverEnds(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]string{
		"a line":  "data: ",
		"a body":  `{"output":[`,
		"deltas":  "",
		"objects": "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			chunk := strings.Repeat("x", 1<<20)
			switch name {
			case "deltas":
				chunk = "data: {\"type\":\"response.output_text.delta\",\"delta\":\"" + chunk + "\"}\n\n"
			case "objects":
				chunk = strings.Repeat("data: {\"type\":\"response.output_item.added\",\"item\":{\"type\":\"function_call\"}}\n\n", 1000)
			}
			var written atomic.Int64
			client := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if !strings.HasPrefix(start, "{") {
					w.Header().Set("Content-Type", "text/event-stream")
				}
				_, err := io.WriteString(w, start)
				for err == nil && written.Load() < 64<<20 {
					_, err = io.WriteString(w, chunk)
					written.Add(int64(len(chunk)))
				}
			}), responses)

			_, err := client.Complete(t.Context(), ask())

			require.ErrorIs(t, err, &llm.Error{Class: llm.TooLarge})
			require.Less(t, written.Load(), int64(32<<20))
		})
	}
}
