package openai

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm/internal/endpoint"
)

// Only the same provider with the same line of models is one family.
func TestFamilyIsAProviderAndALine(t *testing.T) {
	t.Parallel()
	require.Equal(t, "google/gemini", endpoint.Family("generativelanguage.googleapis.com", "gemini-3-pro"))
	require.Equal(t, "vertex/gemini", endpoint.Family("aiplatform.googleapis.com", "google/gemini-2.5-flash"), "signatures are bound to the endpoint")
	require.Equal(t, "openrouter/claude", endpoint.Family("openrouter.ai", "anthropic/claude-sonnet-5"))
	require.Equal(t, "localhost:4000/gemini", endpoint.Family("localhost:4000", "gemini/gemini-3"))
	for _, name := range []string{
		"anthropic.claude-opus-4-6-v1:0", "us.anthropic.claude-opus-4-6-v1:0", "claude-opus-4-6@20260101",
		"arn:aws:bedrock:us-east-1:123456789012:inference-profile/eu.anthropic.claude-opus-4-6-v1",
	} {
		require.Equal(t, "claude", endpoint.Line(name), name)
	}
	require.NotEqual(t, endpoint.Family("openrouter.ai", "google/gemini-3"), endpoint.Family("generativelanguage.googleapis.com", "gemini-3"))
	require.NotEqual(t, endpoint.Family("evil-googleapis.com", "gemini-3"), endpoint.Family("generativelanguage.googleapis.com", "gemini-3"))
}

// OpenAI serves these models only through the Responses API, or with tools only there.
func TestSomeModelsAreAskedThroughTheResponsesAPI(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]bool{
		"gpt-4o-mini": false, "gpt-5": false, "gpt-5.1": false, "o3": false, "o4-mini": false, "my-pro": false,
		"gpt-5.4": true, "gpt-5.6-mini": true, "gpt-6": true, "gpt-5-pro": true, "o3-pro": true, "gpt-5.1-codex-max": true, "o4-mini-deep-research": true,
	} {
		require.Equal(t, want, usual("api.openai.com", model, AutoAPI, false).has(viaResponses), model)
		require.False(t, usual("api.openai.com", model, ChatAPI, false).has(viaResponses), model)
		require.False(t, usual("127.0.0.1:4000", model, AutoAPI, false).has(viaResponses), model)
		require.True(t, usual("127.0.0.1:4000", model, ResponsesAPI, false).has(viaResponses), model)
	}
}
