package config

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
)

func TestKeyOfACommandAndFilesForTLS(t *testing.T) {
	cfg, err := Parse("conf/agents.yaml", []byte(`
models:
  vertex:
    model: m
    base_url: https://example.com/v1
    api_key_command: [sh, -c, "echo token"]
    api_key_lifetime: 30m
    headers: {Authorization: "Bearer ${api_key}"}
    tls_cert_file: client.pem
    tls_key_file: client.key
    tls_ca_file: /etc/ca.pem
mcp_servers:
  crm: {url: https://crm.example.com/mcp, api_key_file: token}
agents: {a: {model: vertex, tools: ["crm.*"]}}
`))
	require.NoError(t, err)
	vertex, crm := cfg.Models["vertex"], cfg.MCPServers["crm"]
	require.Equal(t, Key{APIKeyCommand: []string{"sh", "-c", "echo token"}, APIKeyLifetime: 30 * time.Minute}, vertex.Key)
	require.Equal(t, TLS{CertFile: "conf/client.pem", KeyFile: "conf/client.key", CAFile: "/etc/ca.pem"}, vertex.TLS)
	require.Contains(t, cfg.SecretFiles(), "conf/client.key")
	require.Contains(t, cfg.SecretFiles(), "conf/token")

	got, err := vertex.Credential("t1")
	require.NoError(t, err)
	require.Equal(t, llm.Credential{Headers: map[string]string{"Authorization": "Bearer t1"}}, got, "the key is only where the file puts it")
	headers, err := crm.Credential("t2")
	require.NoError(t, err)
	require.Equal(t, map[string]string{"Authorization": "Bearer t2"}, headers)
}

func TestWrongKeysAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"api_key_env: A, api_key_command: [b]":       "has both api_key_env and api_key_command; keep one",
		"api_key_file: a, api_key_command: [b]":      "has both api_key_file and api_key_command; keep one",
		"api_key_command: []":                        "models.m.api_key_command: is empty; write the program and its arguments",
		`api_key_command: [""]`:                      "models.m.api_key_command: is empty; write the program and its arguments",
		"api_key_lifetime: 5m":                       "models.m.api_key_lifetime: is for api_key_command; remove it",
		"api_key_command: [b], api_key_lifetime: 0s": "must be more than 0",
		"tls_cert_file: a":                           "has only one of tls_cert_file and tls_key_file; write both",
		"api_key_command: b":                         "must be a list",
	} {
		_, err := Parse("agents.yaml", []byte("models: {m: {model: m, base_url: 'http://h/v1', "+text+"}}\nagents: {a: {model: m}}\n"))
		require.ErrorContains(t, err, want, text)
	}
	_, err := Parse("agents.yaml", []byte("models: {m: {model: m, base_url: 'http://h/v1'}}\nmcp_servers: {s: {command: [x], api_key_env: A}}\nagents: {a: {model: m}}\n"))
	require.ErrorContains(t, err, "mcp_servers.s: has an API key or TLS files, which are for servers with a url; write env for a server with a command")
}

func TestProgramOfAKeyMustExist(t *testing.T) {
	cfg, err := Parse("agents.yaml", []byte("models: {m: {model: m, base_url: 'http://h/v1', api_key_command: [no-such-program-7]}}\nagents: {a: {model: m}}\n"))
	require.NoError(t, err)
	require.ErrorContains(t, cfg.CheckEnvironment(), `models.m.api_key_command: exec: "no-such-program-7": executable file not found in $PATH; install the program, or write its path`)
}
