package config

import (
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
)

var update = flag.Bool("update", false, "write what Parse says into testdata/invalid/*.txt")

// Each invalid file has beside it the exact text of its error.
func TestEveryProblemNamesFileLineAndField(t *testing.T) {
	files, err := filepath.Glob("testdata/invalid/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			cfg, err := Parse("agents.yaml", data)
			require.Error(t, err)
			require.Nil(t, cfg)
			var problems *Error
			require.ErrorAs(t, err, &problems)

			golden := strings.TrimSuffix(file, ".yaml") + ".txt"
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(err.Error()+"\n"), 0o644))
			}
			want, err2 := os.ReadFile(golden)
			require.NoError(t, err2)
			require.Equal(t, string(want), err.Error()+"\n")
		})
	}
}

func TestEveryFieldIsRead(t *testing.T) {
	cfg, err := Load("testdata/valid/full.yaml")
	require.NoError(t, err)
	cfg.source = source{}

	main := Model{
		Provider: "openai", Model: "gpt-4o-mini", BaseURL: "https://api.openai.com/v1",
		Key: Key{APIKeyEnv: "OPENAI_API_KEY"}, Timeout: 90 * time.Second,
		Params: llm.Params{
			Temperature: new(0.2), TopP: new(1.0), MaxOutputTokens: 4096, Seed: new(0),
			ReasoningEffort: "low", ParallelToolCalls: new(false), ToolChoice: "auto",
			Extra: map[string]json.RawMessage{
				"repetition_penalty": json.RawMessage(`1.10`),
				"big":                json.RawMessage(`9007199254740993`),
				"nested":             json.RawMessage(`{"list":[1.0,"a<b",null,"yes",true],"empty":{},"none":[]}`),
			},
		},
	}
	cold := main
	cold.Params.Temperature = new(0.0)
	require.Equal(t, &Config{
		TaskQueue: "support",
		Tools: Tools{
			Root: "testdata/valid/data", HTTPAllowPrivate: true,
			Shell: &Shell{Folder: "testdata/valid/work", Timeout: 5 * time.Minute, Env: []string{"GOPATH", "GOPROXY"}},
		},
		UI:       UI{Content: NoContent},
		External: map[string]External{"deploy": {Description: "deploys a version", Arguments: json.RawMessage(`{"type":"object"}`), Timeout: 48 * time.Hour}},
		Notify: map[string]Hook{
			"pager": {
				URL: "https://example.com/hook/${HOOK_PATH}", SecretEnv: "HOOK_SECRET", Headers: map[string]string{"X-Team": "ops"},
				On: []string{"waits", "held"}, Timeout: 5 * time.Second,
			},
			"signed": {URL: "https://example.com/hook", SecretFile: "testdata/valid/keys/hook", On: []string{"waits", "held", "ended"}},
			"mail":   {Command: []string{"mail", "ops"}, Env: map[string]string{"TOKEN": "${MAIL_TOKEN}"}, On: []string{"waits", "held", "ended"}},
		},
		Models: map[string]Model{
			"main":  main,
			"cold":  cold,
			"local": {Provider: "openai", Model: "qwen3", BaseURL: "http://127.0.0.1:8000/v1", Timeout: DefaultModelTimeout},
			"bedrock": {
				Provider: "anthropic", Platform: "bedrock", Model: "us.anthropic.claude-opus-4-6-v1",
				BaseURL: "https://bedrock-runtime.us-east-1.amazonaws.com", Timeout: DefaultModelTimeout,
			},
			"openai": {Provider: "openai", Model: "gpt-4o", BaseURL: DefaultBaseURL, Key: Key{APIKeyEnv: DefaultAPIKeyEnv}, Timeout: DefaultModelTimeout},
		},
		MCPServers: map[string]MCPServer{
			"files": {
				Command: []string{"my-mcp-server", "--port", "8080"},
				Env:     map[string]string{"LOG": "warn", "DEBUG": "1", "TOKEN": "${FILES_TOKEN}"},
				Prefix:  "fs_", Stateful: true, Timeout: 5 * time.Minute,
			},
			"airline": {
				URL:     "http://127.0.0.1:9900/mcp",
				Headers: map[string]string{"Authorization": "Bearer ${AIRLINE_TOKEN}", "X-Literal": "$${HOME}"},
				Rename:  map[string]string{"get.user": "get_user"},
				Timeout: DefaultMCPTimeout,
			},
			"orders": {
				URL: "https://orders.example.com/mcp", CallerToken: true, Timeout: DefaultMCPTimeout,
				OAuth: &OAuth{
					ClientID: "worker", ClientSecret: "${ORDERS_SECRET}", TokenURL: "https://login.example.com/token", Scopes: []string{"orders.read"},
					Resource: "https://orders.example.com",
				},
			},
			"mail": {
				URL: "https://mail.example.com/mcp", Timeout: DefaultMCPTimeout,
				CallerOAuth: &CallerOAuth{
					OAuth: OAuth{
						ClientID: "worker", ClientSecret: "${LOGIN_SECRET}", TokenURL: "https://login.example.com/token", Scopes: []string{"mail.read"},
						Resource: "https://mail.example.com",
					},
					Audience: "https://auth.mail.example.com", SubjectTokenType: "id_token",
					Server: &OAuth{ClientID: "agents", ClientSecret: "${MAIL_SECRET}", TokenURL: "https://auth.mail.example.com/token"},
				},
			},
		},
		CallerTokens: &CallerTokens{URL: "https://login.example.com/exchange", Headers: map[string]string{"X-Key": "${EXCHANGE_KEY}"}, Timeout: 5 * time.Second},
		Callbacks: &Callbacks{
			URL: "https://agents.example.com/callbacks", Listen: "127.0.0.1:8090", Secret: "${CALLBACK_SECRET}",
			OldSecrets: []string{"${file:testdata/valid/keys/callback}"},
		},
		Agents: map[string]Agent{
			"assistant": {
				Description:     "answers questions about the files",
				Model:           "main",
				Instructions:    "You are …\n\n  Indented.\n",
				Choices:         Choices{Models: []string{"cold"}, ReasoningEfforts: []string{"low", "high"}},
				Tools:           []string{"calculator", "read_file", "airline.*", "files.list"},
				Agents:          []string{"researcher"},
				Background:      []string{"researcher"},
				ApprovalTimeout: 24 * time.Hour,
				Approval: map[string]string{
					"default": "destructive", "read_file": "never", "airline.*": "always", "airline.search": "never", "files.list": "always",
					"researcher": "always",
				},
				Limits: agent.Limits{ModelCalls: 10, Tokens: 500000, Time: 30 * time.Minute, Depth: 2, ToolResultBytes: 1 << 20, CallsPerReply: 20, Background: 5},
			},
			"researcher": {
				Model:            "local",
				Instructions:     "You find facts.\n\nSay where each comes from.\n",
				InstructionsFile: "testdata/valid/prompts/researcher.md",
				Limits:           agent.Limits{ModelCalls: 50, Time: time.Hour, Depth: 3, ToolResultBytes: 65536, CallsPerReply: 100, Background: 50},
			},
		},
	}, cfg)
}

// These are the fields that testdata/valid/full.yaml does not have.
func TestMoneyRatesAndAnswersOfAForm(t *testing.T) {
	cfg, err := Parse("conf/agents.yaml", []byte(`
models:
  main:
    model: m
    api_key_file: keys/main
    price: {input: 0.15, output: 0.60}
    rate: {requests_per_minute: 30, tokens_per_minute: 40000}
    stream: false
    idle_timeout: 20s
    retry_for: 50m
    reasoning: {send: always, field: reasoning}
  spare: {model: s, base_url: "http://127.0.0.1:1/v1", price: {input: 1, cached: 0.1, output: 4}}
agents:
  a:
    model: main
    fallback: [spare]
    keep_agents: true
    priority: 1
    output_schema: {type: object, properties: {n: {type: integer, maximum: 10}}, required: [n]}
    limits: {cost: 0.25, context_tokens: 24000}
`))
	require.NoError(t, err)
	main := cfg.Models["main"]
	require.Equal(t, agent.Price{Input: 150_000, Cached: 150_000, Output: 600_000}, main.Price)
	require.Equal(t, agent.Price{Input: 1_000_000, Cached: 100_000, Output: 4_000_000}, cfg.Models["spare"].Price)
	require.Equal(t, "conf/keys/main", main.APIKeyFile)
	require.Empty(t, main.APIKeyEnv)
	require.Equal(t, 30, main.RequestsPerMinute)
	require.Equal(t, 40000, main.TokensPerMinute)
	require.True(t, main.NoStream)
	require.Equal(t, Reasoning{Send: "always", Field: "reasoning"}, main.Reasoning)
	require.Equal(t, 20*time.Second, main.IdleTimeout)
	require.Equal(t, 50*time.Minute, main.RetryFor)
	a := cfg.Agents["a"]
	require.Equal(t, []string{"main", "spare"}, a.Models())
	require.Equal(t, 1, a.Priority)
	require.True(t, a.KeepAgents)
	require.JSONEq(t, `{"type":"object","properties":{"n":{"type":"integer","maximum":10}},"required":["n"]}`, string(a.OutputSchema))
	require.Equal(t, agent.Dollar/4, a.Limits.Cost)
	require.Equal(t, 24000, a.Limits.ContextTokens)
}

// A model is not tried again for longer than a day, or than the turn of its agent lasts.
func TestRetryForEndsBeforeTheTurn(t *testing.T) {
	for retryFor, problem := range map[string]string{
		"25h": "agents.yaml:1: models.main.retry_for: is 25h0m0s; it must be at most 24h0m0s",
		"1h":  "agents.yaml:1: models.main.retry_for: is 1h0m0s, but the time limit of a turn of the agent ends it after 1h0m0s; raise the limit above it (agents.a.limits.time)",
		"59m": "",
	} {
		_, err := Parse("agents.yaml", []byte("models: {main: {model: m, retry_for: "+retryFor+"}}\nagents: {a: {model: main}}\n"))
		if problem == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, problem)
		}
	}
}

// Each call reads the key again, without the line break that editors add.
func TestKeyOfAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	m := Key{APIKeyFile: file}
	_, err := m.APIKey()
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(file, []byte(" \n"), 0o600))
	_, err = m.APIKey()
	require.ErrorContains(t, err, "is empty")
	require.NoError(t, os.WriteFile(file, []byte("sk-1\n"), 0o600))
	key, err := m.APIKey()
	require.NoError(t, err)
	require.Equal(t, "sk-1", key)
}

func TestDefaultsOfAMinimalFile(t *testing.T) {
	cfg, err := Parse("conf/agents.yaml", []byte("models: {main: {model: m}}\nagents: {a: {model: main}}\n"))
	require.NoError(t, err)
	require.Equal(t, "agents", cfg.TaskQueue)
	require.Equal(t, Tools{Root: "conf"}, cfg.Tools)
}

func TestAbsoluteRootStays(t *testing.T) {
	root := t.TempDir()
	cfg, err := Parse("conf/agents.yaml", []byte("builtin: {files_root: '"+root+"'}\nmodels: {main: {model: m}}\nagents: {a: {model: main}}\n"))
	require.NoError(t, err)
	require.Equal(t, root, cfg.Tools.Root)
}

func TestMissingFileIsNotExist(t *testing.T) {
	_, err := Load(filepath.Join(t.TempDir(), "agents.yaml"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, "agents.yaml")
}

func TestHugeFileIsRefusedUnread(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agents.yaml")
	require.NoError(t, os.WriteFile(path, make([]byte, MaxFileSize+1), 0o600))
	_, err := Load(path)
	require.EqualError(t, err, path+": the file is larger than 1 MiB, the limit for a configuration")
}

func TestSplitTool(t *testing.T) {
	for entry, want := range map[string][2]string{
		"calculator":        {"", "calculator"},
		"airline.*":         {"airline", "*"},
		"airline.get.user":  {"airline", "get.user"},
		"airline.":          {"airline", ""},
		"airline.get_user_": {"airline", "get_user_"},
	} {
		server, tool := SplitTool(entry)
		require.Equal(t, want, [2]string{server, tool}, entry)
	}
}

// For all bytes, Parse returns a complete configuration, or an error with a text.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*/*.yaml")
	require.NoError(f, err)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		cfg, err := Parse("agents.yaml", data)
		if err != nil {
			var problems *Error
			require.ErrorAs(t, err, &problems)
			require.NotEmpty(t, err.Error())
			return
		}
		require.NotEmpty(t, cfg.Agents)
		for name, a := range cfg.Agents {
			require.Regexp(t, toolName, name)
			require.Contains(t, cfg.Models, a.Model)
			require.Positive(t, a.Limits.ModelCalls)
			require.Positive(t, a.Limits.Time)
		}
		for _, m := range cfg.Models {
			for _, raw := range m.Params.Extra {
				require.True(t, json.Valid(raw), string(raw))
			}
		}
	})
}

// The first page of the documentation shows the example as it is, and the example is valid.
func TestExampleIsValidAndShown(t *testing.T) {
	cfg, err := Load("../examples/agents.yaml")
	require.NoError(t, err)
	require.Equal(t, "..", cfg.Tools.Root)
	example, err := os.ReadFile("../examples/agents.yaml")
	require.NoError(t, err)
	page, err := os.ReadFile("../docs/start.md")
	require.NoError(t, err)
	require.Contains(t, string(page), "```yaml\n"+string(example)+"```\n")
}

// Without `builtin.shell` there is no shell. Its folder defaults to files_root.
func TestShellIsConfiguredOnlyIfTheFileSaysSo(t *testing.T) {
	for builtin, want := range map[string]*Shell{
		"{}":                                 nil,
		"{files_root: data}":                 nil,
		"{shell: {}}":                        {Folder: "conf", Timeout: DefaultShellTimeout},
		"{files_root: data, shell: {}}":      {Folder: "conf/data", Timeout: DefaultShellTimeout},
		"{shell: {folder: ../w}}":            {Folder: "w", Timeout: DefaultShellTimeout},
		"{shell: {folder: /w, timeout: 9m}}": {Folder: "/w", Timeout: 9 * time.Minute},
	} {
		cfg, err := Parse("conf/agents.yaml", []byte("models: {m: {model: m}}\nagents: {a: {model: m}}\nbuiltin: "+builtin+"\n"))
		require.NoError(t, err)
		require.Equal(t, want, cfg.Tools.Shell, builtin)
		require.Equal(t, []string{"conf/agents.yaml"}, cfg.ProtectedFiles())
	}
}
