package openai_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/openai"
)

const leaked = "sk-proj-8Qw/eR+tY7uI0pAsDfGhJkL"

// forms are forms in which a malicious or careless endpoint may send the API key back.
var forms = map[string]string{
	"itself":       leaked,
	"base64":       base64.StdEncoding.EncodeToString([]byte("Bearer " + leaked)),
	"base64url":    base64.RawURLEncoding.EncodeToString([]byte(leaked)),
	"URL":          url.QueryEscape(leaked),
	"JSON":         strings.ReplaceAll(leaked, "/", `\/`),
	"hex":          hex.EncodeToString([]byte(leaked)),
	"all but four": leaked[:len(leaked)-4],
	"in two parts": leaked[:15] + " " + leaked[15:],
}

func attacked(t *testing.T, h http.HandlerFunc) (llm.Reply, error) {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	client, err := openai.New(openai.Options{BaseURL: server.URL, APIKey: leaked})
	require.NoError(t, err)
	return client.Complete(t.Context(), llm.Request{
		Candidates: []llm.Candidate{{Name: "main", Model: "m"}},
		Messages:   []llm.Message{{Role: llm.User, Content: "hello"}},
		Tools:      []llm.ToolSpec{{Name: "f", Parameters: json.RawMessage(`{"type":"object"}`)}},
	})
}

func TestAttackEndpointThatSaysTheKeyBackInAReply(t *testing.T) {
	for name, form := range forms {
		t.Run(name, func(t *testing.T) {
			quoted, err := json.Marshal("<" + form + ">")
			require.NoError(t, err)
			arguments, err := json.Marshal(fmt.Sprintf(`{"a":%s}`, quoted))
			require.NoError(t, err)
			reply, err := attacked(t, func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprintf(w, `{"model":%[1]s,"choices":[{"finish_reason":%[1]s,"message":{"role":"assistant","content":%[1]s,"reasoning_content":%[1]s,
					"tool_calls":[{"id":%[1]s,"type":"function","function":{"name":"f","arguments":%[2]s}}]}}]}`, quoted, arguments)
			})
			require.NoError(t, err)
			call := reply.Message.ToolCalls[0]
			for _, field := range []string{reply.Model, reply.FinishReason, reply.Message.Content, reply.Message.Reasoning, call.ID, call.Arguments} {
				require.Contains(t, field, "[hidden]")
				require.NotContains(t, field, form)
			}
			require.True(t, json.Valid([]byte(call.Arguments)))
		})
	}
}

func TestAttackEndpointThatSaysTheKeyBackInAnError(t *testing.T) {
	for name, form := range forms {
		for kind, h := range map[string]http.HandlerFunc{
			"error": func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusBadRequest)
				quoted, _ := json.Marshal(form)
				fmt.Fprintf(w, `{"error":{"message":%s}}`, quoted)
			},
			"text":     func(w http.ResponseWriter, _ *http.Request) { http.Error(w, form, http.StatusBadGateway) },
			"nonsense": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, "{%q", form) },
			"redirect": func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "https://example.com/?key="+form)
				w.WriteHeader(http.StatusFound)
			},
			"an empty reply": func(w http.ResponseWriter, _ *http.Request) {
				quoted, _ := json.Marshal(form)
				fmt.Fprintf(w, `{"model":%[1]s,"choices":[{"finish_reason":%[1]s,"message":{}}]}`, quoted)
			},
		} {
			t.Run(name+" in "+kind, func(t *testing.T) {
				_, err := attacked(t, h)
				var told *llm.Error
				require.ErrorAs(t, err, &told)
				require.NotContains(t, fmt.Sprintf("%+v %v", *told, told.Err), form)
			})
		}
	}
}
