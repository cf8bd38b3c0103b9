package config

import (
	"math"
	"path/filepath"
	"regexp"
)

var (
	toolName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	envName  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

const (
	toolNameHelp = "must be 1 to 64 letters, digits, _ or -, which is what model endpoints take"
	envNameHelp  = "must be the name of an environment variable, such as OPENAI_API_KEY, and never the key itself"
)

// Parse reads and validates data. The name is for messages, and its folder is
// what relative paths in the file are relative to. An error is an [*Error].
func Parse(name string, data []byte) (*Config, error) {
	top, p := document(name, data)
	if p != nil {
		return nil, newError([]Problem{*p})
	}
	r := newReader(name, top.Line)
	cfg := r.config(place{node: top})
	r.check(cfg)
	if err := newError(r.problems); err != nil {
		return nil, err
	}
	if !filepath.IsAbs(cfg.Tools.Root) {
		cfg.Tools.Root = filepath.Join(filepath.Dir(name), cfg.Tools.Root)
	}
	cfg.source = r.source
	return cfg, nil
}

func (r *reader) config(p place) *Config {
	cfg := &Config{
		TaskQueue:  DefaultTaskQueue,
		Models:     map[string]Model{},
		MCPServers: map[string]MCPServer{},
		Agents:     map[string]Agent{},
	}
	r.object(p, keys{
		"task_queue": r.text(&cfg.TaskQueue),
		"models": func(p place) {
			r.entries(p, func(name string, p place) { cfg.Models[name] = r.model(p) })
		},
		"mcp_servers": func(p place) {
			r.entries(p, func(name string, p place) { cfg.MCPServers[name] = r.mcpServer(p) })
		},
		"agents": func(p place) {
			r.entries(p, func(name string, p place) { cfg.Agents[name] = r.agent(p) })
		},
		"builtin": func(p place) {
			r.object(p, keys{
				"files_root":         r.text(&cfg.Tools.Root),
				"http_allow_private": r.boolean(&cfg.Tools.HTTPAllowPrivate),
			})
		},
	})
	return cfg
}

func (r *reader) model(p place) Model {
	m := Model{Provider: "openai", Timeout: DefaultModelTimeout}
	r.object(p, keys{
		"provider":    r.text(&m.Provider),
		"model":       r.text(&m.Model),
		"base_url":    r.webURL(&m.BaseURL),
		"api_key_env": r.matching(&m.APIKeyEnv, envName, envNameHelp),
		"timeout":     r.duration(&m.Timeout),

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
		"extra":       r.extra(&m.Params.Extra),
	})
	// Where nothing says otherwise the endpoint is OpenAI's, which wants a key;
	// another endpoint is sent one only where the file names it.
	if m.BaseURL == "" {
		m.BaseURL = DefaultBaseURL
		if m.APIKeyEnv == "" {
			m.APIKeyEnv = DefaultAPIKeyEnv
		}
	}
	return m
}

func (r *reader) mcpServer(p place) MCPServer {
	s := MCPServer{Timeout: DefaultMCPTimeout}
	r.object(p, keys{
		"command": func(p place) {
			r.list(p, func(item place) { s.Command = append(s.Command, r.verbatim(item)) })
		},
		"env":      r.references(&s.Env, envName, "is not the name of an environment variable"),
		"url":      r.webURL(&s.URL),
		"headers":  r.references(&s.Headers, headerName, "is not the name of a header"),
		"prefix":   r.matching(&s.Prefix, toolName, toolNameHelp),
		"rename":   r.renames(&s.Rename),
		"stateful": r.boolean(&s.Stateful),
		"timeout":  r.duration(&s.Timeout),
	})
	return s
}

// renames reads the new names of single tools.
func (r *reader) renames(into *map[string]string) func(place) {
	return func(p place) {
		m, owner := map[string]string{}, map[string]string{}
		r.entries(p, func(from string, p place) {
			var to string
			r.matching(&to, toolName, toolNameHelp)(p)
			if other, ok := owner[to]; ok && to != "" {
				r.problemf(p.path, "%q is the new name of %q too", to, other)
				return
			}
			m[from], owner[to] = to, from
		})
		*into = m
	}
}

func (r *reader) agent(p place) Agent {
	a := Agent{Limits: Limits{
		Turns:           DefaultTurns,
		Wall:            DefaultWall,
		Depth:           DefaultDepth,
		ToolResultBytes: DefaultToolResultBytes,
	}}
	r.object(p, keys{
		"description":  r.text(&a.Description),
		"model":        r.text(&a.Model),
		"instructions": r.text(&a.Instructions),
		"tools":        r.texts(&a.Tools),
		"agents":       r.texts(&a.Agents),
		"keep_agents":  r.boolean(&a.KeepAgents),
		"limits": func(p place) {
			r.object(p, keys{
				"turns":             r.integer(&a.Limits.Turns, 1, math.MaxInt32),
				"tokens":            r.integer(&a.Limits.Tokens, 1, math.MaxInt),
				"wall":              r.duration(&a.Limits.Wall),
				"depth":             r.integer(&a.Limits.Depth, 1, 100),
				"tool_result_bytes": r.integer(&a.Limits.ToolResultBytes, 1, MaxToolResultBytes),
			})
		},
	})
	return a
}
