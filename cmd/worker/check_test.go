package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// worker --check ends with the verdict and its exit code, and needs no server.
func TestWorkerChecksWithoutAServer(t *testing.T) {
	t.Setenv("TEMPORAL_ADDRESS", "127.0.0.1:1")
	path := filepath.Join(t.TempDir(), "agents.yaml")
	check := func(config string, more ...string) (code int, stdout, stderr string) {
		require.NoError(t, os.WriteFile(path, []byte("models: {m: {model: x, base_url: \"http://127.0.0.1:1/v1\"}}\n"+config), 0o600))
		var out, problems bytes.Buffer
		code = run(append([]string{"--check", "--config", path}, more...), &out, &problems)
		return code, out.String(), problems.String()
	}
	code, stdout, stderr := check("agents: {a: {model: m}}\n")
	require.Equal(t, 0, code, stderr)
	require.Equal(t, "No mistakes: 1 agent, 1 model, 0 MCP servers started\n", stdout)

	code, stdout, stderr = check("mcp_servers: {broken: {command: [sh, -c, exit 3]}}\nagents: {a: {model: m, tools: [broken.*]}}\n")
	require.Equal(t, 2, code)
	require.Contains(t, stdout, path+":2: mcp_servers.broken: list tools: connect: the server exited with code 3 before it answered")
	require.Equal(t, "worker: the configuration has 1 mistake\n", stderr)

	code, stdout, stderr = check("agents: {a: {}}\n", "--json")
	require.Equal(t, 2, code)
	require.Contains(t, stdout, `"field":"agents.a.model"`)
	require.Equal(t, `{"type":"error","error":"the configuration has 1 mistake","exit_code":2,"commands":[]}`+"\n", stderr)

	var out, problems bytes.Buffer
	require.Equal(t, 1, run([]string{"--no-mcp-servers", "--config", path}, &out, &problems))
	require.Equal(t, "worker: --json, --no-environment and --no-mcp-servers need --check; add it, or leave them out\n", problems.String())
	require.Equal(t, 1, run([]string{"--check", "--config", path + ".none"}, &out, &problems))
	require.Contains(t, problems.String(), "there is no configuration file")
}
