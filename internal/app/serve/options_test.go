package serve

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent"
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/config"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/anthropic"
	"github.com/reagent-dev/reagent/tool"
	"github.com/reagent-dev/reagent/tool/builtin"
)

// The configuration in this test sets every setting. The test fails if a setting does not reach the options of the plugin.
func TestEverySettingReachesTheAgent(t *testing.T) {
	for _, name := range []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "KEY", "HEADER", "HOOK_PATH", "HOOK_SECRET_OF_24_BYTES", "CALLBACK_SECRET", "OLD_CALLBACK_SECRET", "TEMPORAL_CONFIG_FILE"} {
		t.Setenv(name, "value-of-"+name)
	}
	cert, private := certificate(t)
	cfg, err := config.Parse("agents.yaml", []byte(strings.NewReplacer("CERT", cert, "PRIVATE", private).Replace(`
models:
  main:
    model: big
    base_url: http://127.0.0.1:1/v1
    api_key_env: KEY
    timeout: 1m
    idle_timeout: 10s
    retry_for: 500ms
    stream: false
    reasoning: {send: always}
    provider: openai
    api: chat
    headers: {X-Key: "${HEADER}"}
    query: {api-version: "1"}
    tls_cert_file: CERT
    tls_key_file: PRIVATE
    tls_ca_file: CERT
    temperature: 1
    price: {input: 1, output: 2}
    rate: {requests_per_minute: 10, tokens_per_minute: 1000}
  small: {model: small}
  claude: {provider: anthropic, platform: vertex, model: opus, base_url: "http://127.0.0.1:1/models", prompt_cache: 1h}
builtin: {files_root: ., http_allow_private: true, shell: {folder: ., timeout: 1m, env: [HEADER]}}
mcp_servers:
  far: {url: "http://127.0.0.1:1/mcp", headers: {A: b}, tls_ca_file: CERT, prefix: p_, rename: {a: b}, timeout: 5m, caller_token: true}
  near: {command: [server], env: {A: b}, stateful: true}
caller_tokens: {command: [sh, -c, 'echo "{\"access_token\":\"token-of-a-caller\"}"']}
notify:
  mail: {command: [mail], env: {A: "${HEADER}"}, on: [held]}
  pager: {url: "https://example.com/${HOOK_PATH}", secret_env: HOOK_SECRET_OF_24_BYTES, headers: {A: "${HEADER}"}, timeout: 5s}
callbacks: {url: "https://example.com/callbacks", secret: "${CALLBACK_SECRET}", old_secrets: ["${OLD_CALLBACK_SECRET}"]}
agents:
  a:
    description: d
    model: main
    fallback: [small, claude]
    instructions: i
    tools: [calculator, shell, far.x, near.y]
    agents: [b]
    background: [b]
    approval: {default: never, calculator: always, "near.*": destructive}
    approval_timeout: 1h
    keep_agents: true
    guardrails: {messages: [far.judge], answers: [far.judge]}
    choices: {models: [small], reasoning_efforts: [low]}
    priority: 1
    output_schema: {type: object}
    limits: {model_calls: 1, tokens: 1, cost: 1, context_tokens: 1000, time: 1s, depth: 1, tool_result_bytes: 1, calls_per_reply: 1, background: 1, message: m}
  b: {model: small}
`)))
	require.NoError(t, err)
	options, err := agentOptions(cfg, Options{Stateful: "all", ResultsDir: "folder"})
	require.NoError(t, err)
	requireSet(t, options.Agents[0], "NeedsApproval") // only programs have it
	requireSet(t, options.Agents[0].Limits)
	require.Equal(t, reagent.ApprovalPolicy{
		"default": reagent.ApprovalNever, "calculator": reagent.ApprovalAlways, "near.*": reagent.ApprovalDestructive,
	}, options.Agents[0].Approval)
	requireSet(t, options.Models["main"], "Client", "APIKey", "Headers", "Query", "PromptCache", "Platform") // only programs have the first four
	credential, err := options.Models["main"].Credential(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, llm.Credential{
		APIKey: "value-of-KEY", Headers: map[string]string{"X-Key": "value-of-HEADER"}, Query: map[string]string{"api-version": "1"},
	}, credential)
	require.EqualValues(t, "1h", options.Models["claude"].PromptCache)
	require.Equal(t, anthropic.Vertex, options.Models["claude"].Platform)
	tools, err := builtinOptions(cfg)
	require.NoError(t, err)
	requireSet(t, tools, "MaxFileBytes", "HTTPTimeout", "MaxHTTPBytes", "Now") // only programs have them
	requireSet(t, *tools.Shell)
	require.Equal(t, map[string]string{"HEADER": "value-of-HEADER"}, tools.Shell.Env)
	programs := []string{"Dir", "TaskQueue", "ConnectTimeout", "Protocol", "HTTPClient", "Logger"}
	requireSet(t, options.MCPServers[0], append(programs, "Command", "Env", "Stateful", "Headers")...)
	requireSet(t, options.MCPServers[1], append(programs, "URL", "Headers", "Credential", "CallerToken", "TLS", "Prefix", "Rename")...)
	token, err := options.CallerTokens(t.Context(), tool.TokenRequest{Reference: "r", Audience: "far"})
	require.NoError(t, err)
	require.Equal(t, tool.Token{Value: "token-of-a-caller"}, token)
	requireSet(t, options.Notify[0], "URL", "Secret", "Headers", "Timeout")
	requireSet(t, options.Notify[1], "Command", "Env")
	require.Equal(t, reagent.Hook{
		Name: "pager", URL: "https://example.com/value-of-HOOK_PATH", Secret: "value-of-HOOK_SECRET_OF_24_BYTES",
		Headers: map[string]string{"A": "value-of-HEADER"}, On: []agent.Occasion{reagent.OnWaits, reagent.OnHeld, reagent.OnEnded}, Timeout: 5 * time.Second,
	}, options.Notify[1])
	require.Equal(t, reagent.Callbacks{
		URL: "https://example.com/callbacks", Secret: "value-of-CALLBACK_SECRET", OldSecrets: []string{"value-of-OLD_CALLBACK_SECRET"},
	}, *options.Callbacks)
}

// Agents that were started with an earlier file may still have a model that no agent of this file uses. So it is served. But if its
// key is not set, the worker starts without it, and says so.
func TestModelsOfTheFileAreServed(t *testing.T) {
	t.Setenv("SET", "value-of-SET")
	t.Setenv("NOT_SET", "")
	cfg, err := config.Parse("agents.yaml", []byte(`
models:
  new: {model: m, base_url: "http://127.0.0.1:1/v1"}
  old: {model: m, base_url: "http://127.0.0.1:1/v1", api_key_env: SET, rate: {requests_per_minute: 10}}
  older: {model: m, base_url: "http://127.0.0.1:1/v1", api_key_env: NOT_SET}
  vertex: {model: m, base_url: "http://127.0.0.1:1/v1", api_key_command: [echo, token], headers: {Authorization: "Bearer ${api_key}"}}
agents: {a: {model: new}}
`))
	require.NoError(t, err)
	require.NoError(t, cfg.CheckEnvironment())
	options, err := agentOptions(cfg, Options{Stateful: "all"})
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"new", "old", "vertex"}, slices.Collect(maps.Keys(options.Models)))
	credential, err := options.Models["old"].Credential(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, "value-of-SET", credential.APIKey)
	credential, err = options.Models["vertex"].Credential(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, llm.Credential{Headers: map[string]string{"Authorization": "Bearer token"}}, credential)
	require.Equal(t, "Model       new: m at http://127.0.0.1:1/v1\nModel       old: m at http://127.0.0.1:1/v1\n"+
		"Model       older: not served, because the environment variable NOT_SET is empty or not set; it must contain the API key\n"+
		"Model       vertex: m at http://127.0.0.1:1/v1\n", modelsText(cfg))
}

// A worker without an agent that runs commands has no shell.
func TestShellNeedsAnAgentThatHasIt(t *testing.T) {
	for tools, want := range map[string]bool{"[shell]": true, "[read_file]": false, "[]": false} {
		cfg, err := config.Parse("agents.yaml", []byte("models: {m: {model: m}}\nbuiltin: {shell: {}}\nagents: {a: {model: m, tools: "+tools+"}}\n"))
		require.NoError(t, err)
		options, err := builtinOptions(cfg)
		require.NoError(t, err)
		require.Equal(t, want, options.Shell != nil, tools)
		require.Equal(t, []string{"agents.yaml"}, options.Protected)
	}
}

// requireSet asserts that every field of a struct has a value, except for the given fields (but), which must be zero.
func requireSet(t *testing.T, v any, but ...string) {
	value := reflect.ValueOf(v)
	for i := range value.NumField() {
		if name := value.Type().Field(i).Name; !value.Field(i).IsZero() {
			require.NotContains(t, but, name)
		} else {
			require.Contains(t, but, name, "%T.%s is not set", v, name)
		}
	}
}

// Package config knows the names of all built-in tools. Otherwise it would refuse one as unknown, or accept another tool with its name.
func TestConfigurationKnowsEveryBuiltinTool(t *testing.T) {
	tools, err := builtin.Tools(builtin.Options{Root: t.TempDir(), Shell: &builtin.Shell{Folder: t.TempDir()}})
	require.NoError(t, err)
	for _, each := range tools {
		name := each.Spec().Name
		const models = "models: {m: {model: m}}\nbuiltin: {shell: {}}\n"
		cfg, err := config.Parse("agents.yaml", []byte(models+"agents: {a: {model: m, tools: ["+name+"]}}\n"))
		require.NoError(t, err)
		require.NoError(t, cfg.CheckTools())
		_, err = config.Parse("agents.yaml", []byte(models+"external: {"+name+": {}}\nagents: {a: {model: m}}\n"))
		require.ErrorContains(t, err, "agents.yaml:3: external."+name+": the worker has a tool with this name already")
	}
}
