package config

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/encryption"
)

// An agent with the file tools could read the worker's key.
func TestAttackKeyFileBelowTheRootOfTheFileToolsIsRefused(t *testing.T) {
	dir := t.TempDir()
	for _, folder := range []string{"root/keys", "outside"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, folder), 0o700))
	}
	for _, file := range []string{"root/keys/main", "outside/main", "..main"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte("sk-1"), 0o600))
	}
	require.NoError(t, os.Symlink("root/keys/main", filepath.Join(dir, "link-into-root")))
	require.NoError(t, os.Symlink("../outside/main", filepath.Join(dir, "root", "link-out")))
	require.NoError(t, os.Symlink("root", filepath.Join(dir, "link-to-root")))
	for _, c := range []struct {
		key, root, tools string
		refused          bool
	}{
		{"root/keys/main", "root", "read_file", true},
		{"root/keys/main", "root", "calculator, search_files", true},
		{"root/keys/main", ".", "list_files", true},
		{"root/keys/main", "link-to-root", "read_file", true},
		{"link-into-root", "root", "read_file", true},
		{"..main", ".", "read_file", true},
		{"root/keys/main", "root", "write_file", true},
		{"root/keys/main", "root", "edit_file", true},
		{"root/keys/main", "root", "calculator, shell", false}, // there is no such built-in tool without builtin.shell
		{"root/keys/main", "root", "calculator", false},
		{"outside/main", "root", "read_file", false},
		{"root/link-out", "root", "read_file", false},
		{"root/none", "root", "read_file", false},
	} {
		cfg, err := Parse(filepath.Join(dir, "agents.yaml"), fmt.Appendf(nil,
			"models:\n  m: {model: x, api_key_file: %s}\nbuiltin: {files_root: %s}\nagents:\n  a: {model: m, tools: [%s]}\n", c.key, c.root, c.tools))
		require.NoError(t, err)
		if !c.refused {
			require.NoError(t, cfg.CheckFiles(), "%+v", c)
			continue
		}
		require.ErrorContains(t, cfg.CheckFiles(), "agents.yaml:2: models.m.api_key_file: ", "%+v", c)
		require.ErrorContains(t, cfg.CheckFiles(), "the file tools of agent a can read it; move it out")
		require.Contains(t, cfg.SecretFiles(), filepath.Join(dir, c.key))
	}
}

func TestSecretsAreThoseOfAllModelsAndServers(t *testing.T) {
	t.Setenv("KEY", "sk-main")
	t.Setenv("TOKEN", "token-of-a")
	t.Setenv("HOOK", "hook-path")
	t.Setenv("SECRET", "a-signing-secret-of-24-bytes")
	t.Setenv("TEMPORAL_API_KEY", "temporal-key")
	t.Setenv("TEMPORAL_CODEC_AUTH", "Bearer codec-key")
	const payloadKey = "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc="
	keys := filepath.Join(t.TempDir(), "keys.yaml")
	require.NoError(t, os.WriteFile(keys, []byte("keys: {k: "+payloadKey+"}"), 0o600))
	t.Setenv(encryption.KeysFileEnv, keys)
	cfg, err := Parse("agents.yaml", []byte(`
models:
  m: {model: x, api_key_env: KEY, base_url: "https://example.com/v1"}
  n: {model: x, api_key_env: UNSET_KEY, base_url: "https://example.com/v1"}
mcp_servers:
  a: {command: [a], env: {A: "${TOKEN}", B: plain}}
  b: {url: "https://example.com/?key=query-key", headers: {Authorization: "Bearer ${TOKEN}-b"}}
notify:
  h: {url: "https://example.com/services/${HOOK}?key=hook-query", secret_env: SECRET, headers: {Authorization: "Bearer ${TOKEN}-h"}}
agents:
  x: {model: m}
`))
	require.NoError(t, err)
	for _, secret := range []string{"hook-path", "hook-query", "token-of-a-h", "a-signing-secret-of-24-bytes", "sk-main", "token-of-a", "plain", "query-key", "token-of-a-b", "temporal-key", "codec-key", payloadKey} {
		require.Contains(t, cfg.Secrets(), secret)
	}
	require.NotContains(t, cfg.Secrets(), "")
	require.Contains(t, cfg.SecretFiles(), keys)
}

// A command could read the key file by accident, for example with grep. The variables of commands are hidden as other secrets are.
func TestAttackKeyFileBelowTheFolderOfCommandsIsRefused(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "work"), 0o700))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "data"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "work", "key"), []byte("sk-1"), 0o600))
	t.Setenv("TOKEN_OF_COMMANDS", "token-1")
	parse := func(folder, tools string) *Config {
		cfg, err := Parse(filepath.Join(dir, "agents.yaml"), fmt.Appendf(nil,
			"models:\n  m: {model: x, api_key_file: work/key}\nbuiltin: {files_root: data, shell: {folder: %s, env: [TOKEN_OF_COMMANDS, UNSET_VARIABLE]}}\nagents:\n  a: {model: m, tools: [%s]}\n", folder, tools))
		require.NoError(t, err)
		return cfg
	}
	require.NoError(t, parse("data", "shell, read_file").CheckFiles())
	require.NoError(t, parse("work", "read_file").CheckFiles())
	require.ErrorContains(t, parse("work", "shell").CheckFiles(), "is below builtin.shell.folder ("+filepath.Join(dir, "work")+"), where the commands of agent a can read it; move it out")
	require.Contains(t, parse("data", "shell").Secrets(), "token-1")
	require.ErrorContains(t, parse("data", "shell").CheckEnvironment(), "agents.yaml:3: builtin.shell.env[1]: the environment variable UNSET_VARIABLE is not set")
	require.NoError(t, parse("data", "read_file").CheckEnvironment(), "no agent has the shell")
	_, err := parse("data", "shell").Tools.Shell.ResolveEnv()
	require.EqualError(t, err, "env[1]: the environment variable UNSET_VARIABLE is not set; set it in the environment of the worker")
	t.Setenv("UNSET_VARIABLE", "")
	env, err := parse("data", "shell").Tools.Shell.ResolveEnv()
	require.NoError(t, err)
	require.Equal(t, map[string]string{"TOKEN_OF_COMMANDS": "token-1", "UNSET_VARIABLE": ""}, env)
}
