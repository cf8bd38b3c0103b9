package openai_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
	"github.com/reagent-dev/reagent/llm/openai"
)

// at returns a client for the endpoint at a URL, without a connection.
func at(t *testing.T, url, api string, endpoint http.Handler) llm.Client {
	t.Helper()
	client, err := openai.New(openai.Options{BaseURL: url, API: api, HTTPClient: handled(endpoint), Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	return client
}

// cacheKey returns the key of the prompt cache in a body; empty if there is none.
func cacheKey(t *testing.T, body []byte) string {
	t.Helper()
	var wire struct {
		Key string `json:"prompt_cache_key"`
	}
	require.NoError(t, json.Unmarshal(body, &wire))
	return wire.Key
}

// The hosts of OpenAI and Azure get the key of the prompt cache, in both APIs. Others may refuse the field, so they do not get it.
func TestOnlyOpenAIAndAzureGetTheCacheKey(t *testing.T) {
	t.Parallel()
	key := strings.Repeat("a", 32)
	for url, want := range map[string]string{
		"https://api.openai.com/v1": key, "https://mine.openai.azure.com/openai/v1": key, "https://api.mistral.ai/v1": "", "http://127.0.0.1:8000/v1": "",
	} {
		for _, api := range []string{openai.ChatAPI, openai.ResponsesAPI} {
			endpoint := &standin.Endpoint{Client: llmtest.Script(llmtest.Say("Hi."), llmtest.Say("Hi."))}
			client := at(t, url, api, endpoint)
			req := ask()
			req.PromptCacheKey = key
			_, err := client.Complete(t.Context(), req)
			require.NoError(t, err)
			require.Equal(t, want, cacheKey(t, endpoint.Requests()[0].Body), "%s %s", url, api)

			req.Params.Extra = map[string]json.RawMessage{"prompt_cache_key": json.RawMessage(`"mine"`)}
			_, err = client.Complete(t.Context(), req)
			require.NoError(t, err)
			require.Equal(t, "mine", cacheKey(t, endpoint.Requests()[1].Body), "the user's own key counts")
		}
	}
}

// A model on Azure that does not know the key is asked without it from then on. The user's own key is not left out.
func TestARefusedCacheKeyIsLearned(t *testing.T) {
	t.Parallel()
	endpoint := &standin.Endpoint{Client: llmtest.Func(always(llmtest.Say("Hi."))), Provider: standin.Azure()}
	client := at(t, "https://mine.openai.azure.com/openai/v1", openai.ChatAPI, endpoint)
	req := ask()
	req.Candidates[0].Model, req.PromptCacheKey = "Kimi-K2.5", "key"
	for range 2 {
		_, err := client.Complete(t.Context(), req)
		require.NoError(t, err)
	}
	require.Len(t, endpoint.Requests(), 3)

	req.Params.Extra = map[string]json.RawMessage{"prompt_cache_key": json.RawMessage(`"mine"`)}
	_, err := client.Complete(t.Context(), req)
	require.ErrorContains(t, err, "prompt_cache_key")
	require.Len(t, endpoint.Requests(), 4)
}
