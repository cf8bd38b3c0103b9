package llm_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/anthropic"
	"github.com/reagent-dev/reagent/llm/llmtest"
	"github.com/reagent-dev/reagent/llm/openai"
)

// vault is a source of credentials whose key changes when it is asked after a refusal.
type vault struct {
	mu      sync.Mutex
	keys    []string
	refused []string
	err     error
}

func (v *vault) get(_ context.Context, refused *llm.Credential) (llm.Credential, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if refused != nil {
		v.refused = append(v.refused, refused.APIKey)
		if len(v.keys) > 1 {
			v.keys = v.keys[1:]
		}
	}
	return llm.Credential{APIKey: v.keys[0], Headers: map[string]string{"X-Tenant": "t"}}, v.err
}

// guarded accepts only requests with the key, wherever an API has it.
func guarded(key *string, next http.Handler) (handler http.HandlerFunc, asked *int) {
	asked = new(int)
	return func(w http.ResponseWriter, r *http.Request) {
		*asked++
		if r.Header.Get("X-Api-Key") != *key && r.Header.Get("Authorization") != "Bearer "+*key {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"error":{"message":"the token ` + r.Header.Get("Authorization") + r.Header.Get("X-Api-Key") + ` has expired"}}`))
			return
		}
		next.ServeHTTP(w, r)
	}, asked
}

func TestCredentialMayChange(t *testing.T) {
	t.Parallel()
	clients := map[string]func(url string, source llm.CredentialSource) (llm.Client, error){
		"chat": func(url string, source llm.CredentialSource) (llm.Client, error) {
			return openai.New(openai.Options{BaseURL: url + "/v1", API: openai.ChatAPI, Credential: source})
		},
		"responses": func(url string, source llm.CredentialSource) (llm.Client, error) {
			return openai.New(openai.Options{BaseURL: url + "/v1", API: openai.ResponsesAPI, Credential: source})
		},
		"messages": func(url string, source llm.CredentialSource) (llm.Client, error) {
			return anthropic.New(anthropic.Options{BaseURL: url, Credential: source})
		},
	}
	req := llm.Request{Candidates: []llm.Candidate{{Name: "m", Model: "m"}}, Messages: []llm.Message{{Role: llm.User, Content: "Hi"}}}
	for name, connect := range clients {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key := "key-one-1234567890"
			handler, asked := guarded(&key, &standin.Endpoint{Client: llmtest.Script(llmtest.Say("a"), llmtest.Say("b"))})
			server := httptest.NewServer(handler)
			defer server.Close()
			v := &vault{keys: []string{key, "key-two-1234567890"}}
			client, err := connect(server.URL, v.get)
			require.NoError(t, err)
			_, err = client.Complete(t.Context(), req)
			require.NoError(t, err)

			key = "key-two-1234567890" // the endpoint takes only the next key from now on
			_, err = client.Complete(t.Context(), req)
			require.NoError(t, err)
			require.Equal(t, []string{"key-one-1234567890"}, v.refused)
			require.Equal(t, 3, *asked)

			key = "key-three"
			_, err = client.Complete(t.Context(), req)
			told, ok := errors.AsType[*llm.Error](err)
			require.True(t, ok)
			require.Equal(t, llm.Unauthorized, told.Class)
			require.NotContains(t, err.Error(), "key-two", "a key that came later is hidden, too")
			require.Equal(t, 4, *asked, "the same key is not sent again")

			v.err = errors.New("the vault is sealed")
			_, err = client.Complete(t.Context(), req)
			require.ErrorContains(t, err, "model: there is no API key for the endpoint: ")
			require.ErrorContains(t, err, "the vault is sealed")
			require.True(t, llm.NoCredential.Retryable())
		})
	}
}
