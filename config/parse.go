package config

import (
	"cmp"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/reagent-dev/reagent/agent"
)

var (
	toolName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	envName  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

const (
	toolNameHelp = "must be 1 to 64 letters, digits, _ or -; model endpoints accept no other names"
	hookEnvHelp  = "must be the name of an environment variable, such as HOOK_SECRET, and never the secret itself"
	envNameHelp  = "must be the name of an environment variable, such as OPENAI_API_KEY, and never the key itself"
)

// Parse reads and validates the content of a configuration file. `name` is the path of this file. Error texts contain the
// path, and relative paths in the configuration are relative to the file's folder. The error is an [*Error].
func Parse(name string, data []byte) (*Config, error) {
	top, p := document(name, data)
	if p != nil {
		return nil, newError([]Problem{*p})
	}
	r := &reader{source: source{file: name, lines: map[string]int{"": top.Line}}, failed: map[string]bool{}}
	cfg := r.config(place{node: top})
	r.check(cfg)
	if err := newError(r.problems); err != nil {
		return nil, err
	}
	cfg.Tools.Root = cmp.Or(cfg.Tools.Root, filepath.Dir(name))
	if shell := cfg.Tools.Shell; shell != nil {
		shell.Folder = cmp.Or(shell.Folder, cfg.Tools.Root)
	}
	cfg.source = r.source
	return cfg, nil
}

func beside(file, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(file), path)
}

func (r *reader) config(p place) *Config {
	cfg := &Config{
		TaskQueue:  DefaultTaskQueue,
		Models:     map[string]Model{},
		MCPServers: map[string]MCPServer{},
		Agents:     map[string]Agent{},
		External:   map[string]External{},
		Notify:     map[string]Hook{},
	}
	r.object(p, keys{
		"task_queue":  r.text(&cfg.TaskQueue),
		"models":      named(r, cfg.Models, r.model),
		"mcp_servers": named(r, cfg.MCPServers, r.mcpServer),
		"agents":      named(r, cfg.Agents, r.agent),
		"external":    named(r, cfg.External, r.external),
		"notify":      named(r, cfg.Notify, r.hook),
		"callbacks":   func(p place) { cfg.Callbacks = r.callbacks(p) },
		"builtin": func(p place) {
			r.object(p, keys{
				"files_root":         r.filePath(&cfg.Tools.Root),
				"http_allow_private": r.boolean(&cfg.Tools.HTTPAllowPrivate),
				"shell":              func(p place) { cfg.Tools.Shell = r.shell(p) },
			})
		},
	})
	return cfg
}

// named returns a function that reads a mapping of names to values of one kind, such as models.
func named[T any](r *reader, into map[string]T, read func(place) T) func(place) {
	return func(p place) { r.entries(p, func(name string, p place) { into[name] = read(p) }) }
}

func (r *reader) model(p place) Model {
	m := Model{Provider: "openai", Timeout: DefaultModelTimeout}
	r.object(p, joined(r.key(&m.Key), r.tls(&m.TLS), keys{
		"provider": r.oneOf(&m.Provider,
			"%q is not a known provider; write openai, which means any OpenAI-compatible endpoint, or anthropic", "openai", "anthropic"),
		"platform":     r.oneOf(&m.Platform, "%q is not a platform; write vertex or bedrock, or remove it for Anthropic's API", "vertex", "bedrock"),
		"model":        r.text(&m.Model),
		"base_url":     r.checked(&m.BaseURL, checkWebURL),
		"timeout":      r.duration(&m.Timeout),
		"idle_timeout": r.duration(&m.IdleTimeout),
		"stream":       r.negated(&m.NoStream),
		"reasoning": func(p place) {
			r.object(p, keys{
				"send":  r.oneOf(&m.Reasoning.Send, "is %q; write never, turn or always", "", "never", "turn", "always"),
				"field": r.text(&m.Reasoning.Field),
			})
		},
		"api": r.oneOf(&m.API, "%q is not an API of the provider openai; write chat, responses or auto",
			"", "auto", "chat", "responses"),
		"headers":      r.references(&m.Headers, headerName, "is not the name of a header"),
		"query":        r.references(&m.Query, queryName, "is not the name of a query parameter"),
		"prompt_cache": r.promptCache(&m.PromptCache),
		"price":        func(p place) { m.Price = r.price(p) },
		"rate": func(p place) {
			r.object(p, keys{
				"requests_per_minute": r.integer(&m.RequestsPerMinute, 1, math.MaxInt32),
				"tokens_per_minute":   r.integer(&m.TokensPerMinute, 1, math.MaxInt32),
			})
		},

		"temperature":       r.float(&m.Params.Temperature, 0, 2),
		"top_p":             r.float(&m.Params.TopP, 0, 1),
		"max_output_tokens": r.integer(&m.Params.MaxOutputTokens, 1, math.MaxInt32),
		"seed": func(p place) {
			m.Params.Seed = new(int)
			r.integer(m.Params.Seed, math.MinInt, math.MaxInt)(p)
		},
		"reasoning_effort": r.text(&m.Params.ReasoningEffort),
		"parallel_tool_calls": func(p place) {
			m.Params.ParallelToolCalls = new(bool)
			r.boolean(m.Params.ParallelToolCalls)(p)
		},
		"tool_choice": r.text(&m.Params.ToolChoice),
		"extra":       func(p place) { m.Params.Extra = r.extra(p) },
	}))
	// The default endpoint is the provider's, which needs a key. Another endpoint gets a key only if the file names one.
	if m.BaseURL == "" && m.Platform == "" {
		var keyEnv string
		if m.BaseURL, keyEnv = r.defaultEndpoint(m.Provider, p); !m.set() {
			m.APIKeyEnv = keyEnv
		}
	}
	return m
}

func (r *reader) defaultEndpoint(provider string, p place) (baseURL, keyEnv string) {
	if provider == "anthropic" {
		return DefaultAnthropicURL, AnthropicKeyEnv
	}
	base := os.Getenv(BaseURLEnv)
	if base == "" {
		return DefaultBaseURL, DefaultAPIKeyEnv
	}
	if problem := checkWebURL(base); problem != "" {
		r.problemf(p.path, "has no base_url, and the environment variable %s, which is used instead, %s", BaseURLEnv, problem)
	}
	if os.Getenv(DefaultAPIKeyEnv) == "" { // the endpoint in OPENAI_BASE_URL may need no key
		return base, ""
	}
	return base, DefaultAPIKeyEnv
}

// If the file has no price for cached input, cached input costs as much as other input.
func (r *reader) price(p place) agent.Price {
	var price agent.Price
	r.object(p, keys{
		"input":       r.money(&price.Input, 1_000_000),
		"cached":      r.money(&price.Cached, 1_000_000),
		"cache_write": r.money(&price.CacheWrite, 1_000_000),
		"output":      r.money(&price.Output, 1_000_000),
	})
	if !r.present(p.key("cached")) {
		price.Cached = price.Input
	}
	return price
}

func (r *reader) promptCache(into *string) func(place) {
	return func(p place) {
		var on bool
		switch {
		case p.node.Kind == yaml.ScalarNode && p.node.Value == "1h":
			*into = "1h"
		case p.node.ShortTag() != "!!bool" || p.node.Decode(&on) != nil:
			r.problemf(p.path, "must be true, false or 1h, not %s", quoted(p))
		case !on:
			*into = "off"
		}
	}
}

// costLimit reads the cost limit of an agent. Zero would mean no limit, and a smaller amount than [agent.MinCost] is shown as zero.
func (r *reader) costLimit(p place, into *agent.Money) {
	r.money(into, 1)(p)
	if *into < agent.MinCost && !r.hasProblem(p.path) {
		r.problemf(p.path, "must be at least 0.0001 US dollars, not %s; remove it for no limit", p.node.Value)
	}
}

func (r *reader) mcpServer(p place) MCPServer {
	s := MCPServer{Timeout: DefaultMCPTimeout}
	r.object(p, joined(r.key(&s.Key), r.tls(&s.TLS), keys{
		"command":  r.texts(&s.Command, r.verbatim),
		"env":      r.references(&s.Env, envName, "is not the name of an environment variable"),
		"url":      r.checked(&s.URL, checkWebURL),
		"headers":  r.references(&s.Headers, headerName, "is not the name of a header"),
		"prefix":   r.matching(&s.Prefix, toolName, toolNameHelp),
		"rename":   r.renames(&s.Rename),
		"stateful": r.boolean(&s.Stateful),
		"timeout":  r.duration(&s.Timeout),
	}))
	return s
}

func (r *reader) renames(into *map[string]string) func(place) {
	return func(p place) {
		m, owner := map[string]string{}, map[string]string{}
		r.entries(p, func(from string, p place) {
			var to string
			r.matching(&to, toolName, toolNameHelp)(p)
			if other, ok := owner[to]; ok && to != "" {
				r.problemf(p.path, "%q is the new name of %q already; give each tool a name of its own", to, other)
				return
			}
			m[from], owner[to] = to, from
		})
		*into = m
	}
}

func (r *reader) agent(p place) Agent {
	var a Agent
	r.object(p, keys{
		"description":      r.text(&a.Description),
		"model":            r.text(&a.Model),
		"fallback":         r.texts(&a.Fallback, r.text),
		"output_schema":    r.schema(&a.OutputSchema),
		"instructions":     r.text(&a.Instructions),
		"tools":            r.texts(&a.Tools, r.text),
		"agents":           r.texts(&a.Agents, r.text),
		"background":       r.texts(&a.Background, r.text),
		"keep_agents":      r.boolean(&a.KeepAgents),
		"priority":         r.integer(&a.Priority, 1, 5),
		"approval":         func(p place) { a.Approval = r.approval(p) },
		"approval_timeout": r.duration(&a.ApprovalTimeout),
		"limits": func(p place) {
			r.object(p, keys{
				"model_calls":       r.integer(&a.Limits.ModelCalls, 1, math.MaxInt32),
				"tokens":            r.integer(&a.Limits.Tokens, 1, math.MaxInt),
				"cost":              func(p place) { r.costLimit(p, &a.Limits.Cost) },
				"context_tokens":    r.integer(&a.Limits.ContextTokens, 1000, math.MaxInt32),
				"time":              r.duration(&a.Limits.Time),
				"depth":             r.integer(&a.Limits.Depth, 1, 100),
				"tool_result_bytes": r.integer(&a.Limits.ToolResultBytes, 1, agent.MaxToolResultBytes),
				"calls_per_reply":   r.integer(&a.Limits.CallsPerReply, 1, agent.MaxCallsPerReply),
				"background":        r.integer(&a.Limits.Background, 1, agent.MaxBackground),
				"message":           r.text(&a.Limits.Message),
			})
		},
	})
	a.Limits = a.Limits.WithDefaults()
	return a
}

func (r *reader) external(p place) External {
	var e External
	r.object(p, keys{
		"description": r.text(&e.Description),
		"arguments":   r.schema(&e.Arguments),
		"timeout":     r.duration(&e.Timeout),
	})
	return e
}

func (r *reader) shell(p place) *Shell {
	s := &Shell{Timeout: DefaultShellTimeout}
	r.object(p, keys{
		"folder":  r.filePath(&s.Folder),
		"timeout": r.duration(&s.Timeout),
		"env": r.texts(&s.Env, func(into *string) func(place) {
			return r.matching(into, envName, "must be the name of an environment variable of the worker, such as GOPATH, and never its value")
		}),
	})
	return s
}

func (r *reader) schema(to *json.RawMessage) func(place) {
	return func(p place) {
		if p.node.Kind != yaml.MappingNode {
			r.problemf(p.path, "must be a JSON schema: a mapping, not %s", kindOf(p.node))
			return
		}
		*to = json.RawMessage(r.json(p))
	}
}

// approval reads the field `approval` of an agent. It returns nil if the mapping has no entries. Unlike in other fields, null is
// a problem: without a rule, calls would run without approval.
func (r *reader) approval(p place) map[string]string {
	if p.node.Kind == yaml.MappingNode && len(p.node.Content) == 0 {
		return nil
	}
	rules := map[string]string{}
	r.entries(p, func(key string, value place) {
		rules[key] = value.node.Value
		if value.node.Kind != yaml.ScalarNode || !slices.Contains([]string{"never", "always", "destructive"}, value.node.Value) {
			r.problemf(value.path, "is %s; write never, always or destructive", quoted(value))
		}
	})
	return rules
}
