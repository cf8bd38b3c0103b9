package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// If the file names no endpoint, the worker uses OPENAI_BASE_URL, as the demo and OpenAI's own libraries do.
func TestNewcomerSetsTheEndpointInTheEnvironment(t *testing.T) {
	const text = "models: {main: {model: m}, own: {model: m, base_url: https://own.example/v1}}\nagents: {x: {model: main}}\n"
	t.Setenv(BaseURLEnv, "http://127.0.0.1:11434/v1")
	t.Setenv(DefaultAPIKeyEnv, "")
	cfg, err := Parse("agents.yaml", []byte(text))
	require.NoError(t, err)
	require.Equal(t, "http://127.0.0.1:11434/v1", cfg.Models["main"].BaseURL)
	require.Empty(t, cfg.Models["main"].APIKeyEnv, "a local endpoint needs no key")
	require.Equal(t, "https://own.example/v1", cfg.Models["own"].BaseURL)
	require.NoError(t, cfg.CheckEnvironment())

	t.Setenv(DefaultAPIKeyEnv, "sk-1")
	cfg, err = Parse("agents.yaml", []byte(text))
	require.NoError(t, err)
	require.Equal(t, DefaultAPIKeyEnv, cfg.Models["main"].APIKeyEnv)
	require.Empty(t, cfg.Models["own"].APIKeyEnv, "the key goes to the endpoint of the environment only")

	t.Setenv(BaseURLEnv, "localhost:11434")
	_, err = Parse("agents.yaml", []byte(text))
	require.ErrorContains(t, err, "models.main: has no base_url, and the environment variable OPENAI_BASE_URL, which is used instead, must be a URL such as")

	t.Setenv(BaseURLEnv, "")
	cfg, err = Parse("agents.yaml", []byte(text))
	require.NoError(t, err)
	require.Equal(t, DefaultBaseURL, cfg.Models["main"].BaseURL)
	require.Equal(t, DefaultAPIKeyEnv, cfg.Models["main"].APIKeyEnv)
}
