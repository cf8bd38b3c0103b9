package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
)

const environmentFile = `models:
  main: {model: m, api_key_env: REAGENT_TEST_KEY}
  local: {model: m, base_url: "http://127.0.0.1:1/v1"}
  unused: {model: m, api_key_env: REAGENT_TEST_UNUSED}
mcp_servers:
  web:
    url: "http://127.0.0.1:1/mcp"
    headers:
      Authorization: "Bearer ${REAGENT_TEST_TOKEN}"
      X-Plain: "$${HOME} costs $5"
  unused: {command: [x], env: {A: "${REAGENT_TEST_UNUSED}"}}
agents:
  a: {model: main, tools: [web.*]}
  b: {model: local}
`

func TestEnvironmentIsCheckedForWhatAgentsUse(t *testing.T) {
	unset(t, "REAGENT_TEST_KEY", "REAGENT_TEST_TOKEN", "REAGENT_TEST_UNUSED")
	cfg, err := Parse("agents.yaml", []byte(environmentFile))
	require.NoError(t, err)
	require.EqualError(t, cfg.CheckEnvironment(),
		"agents.yaml:2: models.main.api_key_env: the environment variable REAGENT_TEST_KEY is empty or not set; it must contain the API key; set it in the environment of the worker, or leave out api_key_env for an endpoint that needs no key\n"+
			"agents.yaml:9: mcp_servers.web.headers.Authorization: the environment variable REAGENT_TEST_TOKEN is not set; set it in the environment of the worker")

	t.Setenv("REAGENT_TEST_KEY", "sk-secret")
	t.Setenv("REAGENT_TEST_TOKEN", "")
	require.NoError(t, cfg.CheckEnvironment(), "an empty header is somebody's wish")
}

func TestKeyIsReadWhenItIsUsed(t *testing.T) {
	m := Key{APIKeyEnv: "REAGENT_TEST_KEY"}
	t.Setenv("REAGENT_TEST_KEY", "  ")
	_, err := m.APIKey()
	require.EqualError(t, err, "the environment variable REAGENT_TEST_KEY is empty or not set; it must contain the API key")

	t.Setenv("REAGENT_TEST_KEY", "sk-one\n")
	key, err := m.APIKey()
	require.NoError(t, err)
	require.Equal(t, "sk-one", key)

	key, err = Model{}.APIKey()
	require.NoError(t, err)
	require.Empty(t, key)
}

func TestReferencesAreResolvedOnTheWorker(t *testing.T) {
	unset(t, "REAGENT_TEST_TOKEN")
	cfg, err := Parse("agents.yaml", []byte(environmentFile))
	require.NoError(t, err)
	_, err = cfg.MCPServers["web"].Credential("")
	require.EqualError(t, err, "headers.Authorization: the environment variable REAGENT_TEST_TOKEN is not set; set it in the environment of the worker")

	t.Setenv("REAGENT_TEST_TOKEN", "t0p${HOME}")
	headers, err := cfg.MCPServers["web"].Credential("")
	require.NoError(t, err)
	require.Equal(t, map[string]string{"Authorization": "Bearer t0p${HOME}", "X-Plain": "${HOME} costs $5"}, headers,
		"a value is never expanded twice")

	env, err := cfg.MCPServers["web"].ResolveEnv()
	require.NoError(t, err)
	require.Nil(t, env)
}

// unset removes variables until the test ends.
func unset(t *testing.T, names ...string) {
	for _, name := range names {
		t.Setenv(name, "") // so that the test's end restores it
		require.NoError(t, os.Unsetenv(name))
	}
}

// Headers and the query of a model may come from the environment or from files beside the configuration.
func TestHeadersOfAModelComeFromVariablesAndFiles(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "token"), []byte("from-a-file\n"), 0o600))
	t.Setenv("TOKEN", "from-a-variable")
	cfg, err := Parse(filepath.Join(folder, "agents.yaml"), []byte(`
models:
  main: {model: m, base_url: "http://127.0.0.1:1/v1", headers: {A: "x ${TOKEN}", B: "Bearer ${file:token}"}, query: {api-version: "${TOKEN}"}}
agents: {a: {model: main}}
`))
	require.NoError(t, err)
	require.NoError(t, cfg.CheckEnvironment())
	got, err := cfg.Models["main"].Credential("")
	require.NoError(t, err)
	require.Equal(t, llm.Credential{
		Headers: map[string]string{"A": "x from-a-variable", "B": "Bearer from-a-file"}, Query: map[string]string{"api-version": "from-a-variable"},
	}, got)
	require.Contains(t, cfg.Secrets(), "from-a-file")
	require.Contains(t, cfg.SecretFiles(), filepath.Join(folder, "token"))

	require.NoError(t, os.Remove(filepath.Join(folder, "token")))
	require.ErrorContains(t, cfg.CheckEnvironment(), "models.main.headers.B")
}

// A file with a header must not be where the file tools can read it.
func TestAttackFileOfAHeaderIsNotReadable(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "token"), []byte("secret"), 0o600))
	cfg, err := Parse(filepath.Join(folder, "agents.yaml"), []byte(`
models: {main: {model: m, base_url: "http://127.0.0.1:1/v1", headers: {B: "${file:token}"}}}
agents: {a: {model: main, tools: [read_file]}}
`))
	require.NoError(t, err)
	require.ErrorContains(t, cfg.CheckFiles(), "token is below builtin.files_root")
}

// Without a base URL, a model of Anthropic goes to Anthropic with Anthropic's key.
func TestModelOfAnthropicHasItsDefaults(t *testing.T) {
	cfg, err := Parse("agents.yaml", []byte(`
models: {main: {provider: anthropic, model: claude-opus-4-6}}
agents: {a: {model: main}}
`))
	require.NoError(t, err)
	require.Equal(t, DefaultAnthropicURL, cfg.Models["main"].BaseURL)
	require.Equal(t, AnthropicKeyEnv, cfg.Models["main"].APIKeyEnv)
}

// The secrets of hooks and the references in their URLs are checked before a worker starts. No text shows a secret or a URL.
func TestHooksAreCheckedWithTheEnvironment(t *testing.T) {
	t.Setenv("SHORT", "short-secret")
	t.Setenv("PATH_OF_HOOK", "no url")
	cfg, err := Parse("agents.yaml", []byte(`
models: {m: {model: x, base_url: "http://127.0.0.1:1/v1"}}
notify:
  a: {url: "https://example.com/${UNSET_PATH}"}
  b: {url: "${PATH_OF_HOOK}"}
  c: {url: "https://example.com", secret_env: SHORT}
  d: {url: "https://example.com", secret_file: none}
  e: {command: [x], env: {A: "${UNSET_TOKEN}"}}
agents: {a: {model: m}}
`))
	require.NoError(t, err)
	err = cfg.CheckEnvironment()
	for _, problem := range []string{
		"agents.yaml:4: notify.a.url: the environment variable UNSET_PATH is not set",
		"agents.yaml:5: notify.b.url: must be a URL",
		"agents.yaml:6: notify.c.secret_env: the secret has 12 bytes; use a secret of at least 24 bytes",
		"agents.yaml:7: notify.d.secret_file: the file with the hook's secret cannot be read",
		"agents.yaml:8: notify.e.env.A: the environment variable UNSET_TOKEN is not set",
	} {
		require.ErrorContains(t, err, problem)
	}
	require.NotContains(t, err.Error(), "short-secret")
	require.NotContains(t, err.Error(), "no url")
	require.Contains(t, cfg.SecretFiles(), "none")
}

// The secrets of callbacks are checked before a worker starts, and hidden as others are. A file with one is out of reach of the tools.
func TestCallbacksAreCheckedWithTheEnvironment(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "old"), []byte("an-old-secret-of-24-bytes\n"), 0o600))
	t.Setenv("SHORT", "short-secret")
	t.Setenv("CALLBACK_SECRET", "the-secret-of-at-least-24-bytes")
	parse := func(callbacks string) *Config {
		cfg, err := Parse(filepath.Join(dir, "agents.yaml"), []byte(`
models: {m: {model: x, base_url: "http://127.0.0.1:1/v1"}}
callbacks:
  url: https://agents.example.com/callbacks
  listen: 127.0.0.1:8090
`+callbacks+"agents: {a: {model: m, tools: [read_file]}}\n"))
		require.NoError(t, err)
		return cfg
	}
	err := parse("  secret: ${SHORT}\n  old_secrets: [\"${UNSET_SECRET}\", \"${file:none}\"]\n").CheckEnvironment()
	for _, problem := range []string{
		"agents.yaml:6: callbacks.secret: the secret has 12 bytes; use a secret of at least 24 bytes",
		"agents.yaml:7: callbacks.old_secrets[0]: the environment variable UNSET_SECRET is not set",
		"agents.yaml:7: callbacks.old_secrets[1]: open ",
	} {
		require.ErrorContains(t, err, problem)
	}
	require.NotContains(t, err.Error(), "short-secret")

	cfg := parse("  secret: ${CALLBACK_SECRET}\n  old_secrets: [\"${file:old}\"]\n")
	require.NoError(t, cfg.CheckEnvironment())
	secret, old, err := cfg.Callbacks.ResolveSecrets()
	require.NoError(t, err)
	require.Equal(t, []string{"the-secret-of-at-least-24-bytes", "an-old-secret-of-24-bytes"}, append([]string{secret}, old...))
	require.Contains(t, cfg.Secrets(), secret)
	require.Contains(t, cfg.Secrets(), old[0])
	require.Contains(t, cfg.SecretFiles(), filepath.Join(dir, "old"))
	require.ErrorContains(t, cfg.CheckFiles(), "callbacks: "+filepath.Join(dir, "old")+" is below builtin.files_root")
}

// The advice fits the problem: only an API key may be left out, and a secret that is too short is not missing in the environment.
func TestAdviceFitsTheMissingValue(t *testing.T) {
	unset(t, "UNSET", "OPENAI_API_KEY", BaseURLEnv)
	t.Setenv("SHORT", "short-secret")
	cfg, err := Parse("agents.yaml", []byte(`
models:
  m: {model: x, base_url: "http://127.0.0.1:1/v1", api_key_env: UNSET}
  default: {model: x}
  file: {model: x, api_key_file: none}
callbacks: {url: "https://example.com", secret: "${SHORT}", old_secrets: ["${UNSET}"]}
builtin: {shell: {env: [UNSET]}}
notify:
  a: {url: "https://example.com/${UNSET}", secret_env: UNSET}
  b: {url: "https://example.com", secret_env: SHORT}
agents: {a: {model: m, tools: [shell], fallback: [default, file]}}
`))
	require.NoError(t, err)
	require.EqualError(t, cfg.CheckEnvironment(), strings.Join([]string{
		"agents.yaml:3: models.m.api_key_env: the environment variable UNSET is empty or not set; it must contain the API key; set it in the environment of the worker, or leave out api_key_env for an endpoint that needs no key",
		"agents.yaml:4: models.default.api_key_env: the environment variable OPENAI_API_KEY is empty or not set; it must contain the API key; set it in the environment of the worker",
		"agents.yaml:5: models.file.api_key_file: the file with the API key cannot be read: open none: no such file or directory; create it, or correct api_key_file",
		"agents.yaml:6: callbacks.secret: the secret has 12 bytes; use a secret of at least 24 bytes",
		"agents.yaml:6: callbacks.old_secrets[0]: the environment variable UNSET is not set; set it in the environment of the worker",
		"agents.yaml:7: builtin.shell.env[0]: the environment variable UNSET is not set; set it in the environment of the worker",
		"agents.yaml:9: notify.a.url: the environment variable UNSET is not set; set it in the environment of the worker",
		"agents.yaml:9: notify.a.secret_env: the environment variable UNSET is empty or not set; it must contain the hook's secret; set it in the environment of the worker",
		"agents.yaml:10: notify.b.secret_env: the secret has 12 bytes; use a secret of at least 24 bytes",
	}, "\n"))
}
