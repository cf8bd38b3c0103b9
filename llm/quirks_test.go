package llm_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/anthropic"
	"github.com/reagent-dev/reagent/llm/openai"
)

// An error response has the same class and the same wait time for the clients of all APIs: gateways send each other's errors. The
// responses are those of the catalogue of package openai.
func TestErrorsHaveOneClassInEveryAPI(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("openai/testdata/quirks/*.json")
	require.NoError(t, err)
	checked := 0
	for _, file := range files {
		encoded, err := os.ReadFile(file)
		require.NoError(t, err)
		var quirk struct {
			Status     int
			Headers    map[string]string
			Body       json.RawMessage
			BodyBase64 string `json:"body_base64"`
		}
		require.NoError(t, json.Unmarshal(encoded, &quirk), file)
		if quirk.Status < http.StatusMultipleChoices || quirk.BodyBase64 != "" || strings.Contains(string(encoded), "@HTTPDATE") {
			continue
		}
		checked++
		body := []byte(quirk.Body)
		var text string
		if json.Unmarshal(body, &text) == nil {
			body = []byte(text)
		}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for name, value := range quirk.Headers {
				w.Header().Set(name, value)
			}
			w.WriteHeader(quirk.Status)
			_, _ = w.Write(body)
		}))
		ask := func(client llm.Client, err error) *llm.Error {
			require.NoError(t, err)
			_, err = client.Complete(t.Context(), llm.Request{
				Candidates: []llm.Candidate{{Name: "m", Model: "m"}}, Tools: []llm.ToolSpec{{Name: "look"}},
				Messages: []llm.Message{{Role: llm.User, Content: "How is the weather?"}},
			})
			if told, ok := errors.AsType[*llm.Error](err); ok {
				return told
			}
			return &llm.Error{}
		}
		want := ask(openai.New(openai.Options{BaseURL: server.URL + "/v1", API: openai.ChatAPI}))
		for name, got := range map[string]*llm.Error{
			"responses": ask(openai.New(openai.Options{BaseURL: server.URL + "/v1", API: openai.ResponsesAPI})),
			"messages":  ask(anthropic.New(anthropic.Options{BaseURL: server.URL})),
		} {
			require.Equal(t, want.Class, got.Class, "%s, %s: %s", file, name, got.Message)
			require.Equal(t, want.RetryAfter, got.RetryAfter, "%s, %s", file, name)
		}
		server.Close()
	}
	require.Greater(t, checked, 100)
}
