package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
)

// check finds the problems that only the whole configuration shows: missing values, contradictions, and references to names
// that do not exist. It adds the problems to those of the reader.
func (r *reader) check(cfg *Config) {
	if r.hasProblem("") {
		return // the file is not a mapping, so check would report every required value as missing
	}
	if cfg.TaskQueue == "" {
		r.problemf("task_queue", "is empty; write a name, or leave it out for the default %q", DefaultTaskQueue)
	}
	for _, name := range sorted(cfg.Models) {
		r.checkModel("models."+name, cfg.Models[name])
	}
	for _, name := range sorted(cfg.MCPServers) {
		r.checkMCPServer("mcp_servers."+name, cfg.MCPServers[name])
	}
	for _, name := range sorted(cfg.Notify) {
		r.checkHook("notify."+name, cfg.Notify[name])
	}
	r.checkExternal(cfg)
	r.checkCallbacks(cfg.Callbacks)
	r.checkCallerTokens(cfg)
	if len(cfg.Agents) == 0 && !r.hasProblem("agents") {
		r.problemf("agents", "missing; define at least one agent")
	}
	for _, name := range sorted(cfg.Agents) {
		r.checkAgent(name, cfg.Agents[name], cfg)
	}
	r.checkCycles(cfg)
	r.checkShell(cfg.Tools.Shell)
}

// `s` is nil if the file has no such field or if its value is null.
func (r *reader) checkShell(s *Shell) {
	const path = "builtin.shell"
	switch {
	case s == nil && r.present(path):
		r.problemf(path, "is empty; write {} for a shell with the defaults, or remove it")
	case s != nil && s.Timeout > MaxShellTimeout:
		r.problemf(path+".timeout", "must be at most %v, not %v, because a worker ends every call of a tool after 10m", MaxShellTimeout, s.Timeout)
	}
}

func (r *reader) checkModel(path string, m Model) {
	api := m.API
	if m.Provider == "anthropic" {
		api = m.Provider
	}
	for _, field := range sorted(m.Params.Extra) {
		if why, ok := reservedBy[api][field]; ok {
			r.problemf(path+".extra."+field, "cannot be set here: %s", why)
		}
	}
	if m.Provider == "anthropic" {
		for _, field := range []string{"api", "reasoning"} {
			if r.present(path + "." + field) {
				r.problemf(path+"."+field, "is for the provider openai; remove it")
			}
		}
	}
	if r.present(path+".prompt_cache") && m.Provider != "anthropic" {
		r.problemf(path+".prompt_cache", "is for the provider anthropic; other providers cache prompts by themselves, so remove it")
	}
	switch {
	case m.Platform == "":
	case m.Provider != "anthropic":
		r.problemf(path+".platform", "is for the provider anthropic; write provider: anthropic beside it, or remove it")
	case m.BaseURL == "" && !r.hasProblem(path+".base_url"):
		r.problemf(path+".base_url", "missing; write the URL of the platform %s: see docs/providers.md", m.Platform)
	}
	if err := protocol.CheckRetryFor(m.RetryFor, 0); err != nil {
		r.problemf(path+".retry_for", "%v", err)
	}
	r.checkKey(path, m.Key)
	r.checkTLS(path, m.TLS)
	if m.Model == "" && !r.hasProblem(path) && !r.hasProblem(path+".model") {
		r.problemf(path+".model", "missing; write the provider's name for the model, such as gpt-4o-mini")
	}
}

// checkCommandOrURL reports a problem unless the object at the path has exactly one of the fields `command` and `url`, and this field is
// not empty. It returns which of the fields are in the file.
func (r *reader) checkCommandOrURL(path string, command []string, url string) (hasCommand, hasURL bool) {
	hasCommand, hasURL = r.present(path+".command"), r.present(path+".url")
	switch {
	case hasCommand && hasURL:
		r.problemf(path, "has both command and url; keep one")
	case r.hasProblem(path):
	case !hasCommand && !hasURL:
		r.problemf(path, "has neither command nor url; write one")
	case hasCommand && (len(command) == 0 || command[0] == "") && !r.hasProblem(path+".command"):
		r.problemf(path+".command", "is empty; write the program and its arguments")
	case hasURL && url == "" && !r.hasProblem(path+".url"):
		r.problemf(path+".url", "is empty; write an http or https URL")
	}
	return hasCommand, hasURL
}

func (r *reader) checkMCPServer(path string, s MCPServer) {
	hasCommand, hasURL := r.checkCommandOrURL(path, s.Command, s.URL)
	if s.Stateful && hasURL {
		r.problemf(path+".stateful", "is for servers with a command; a server with a url keeps its state itself, so remove it")
	}
	if s.Env != nil && hasURL {
		r.problemf(path+".env", "is for servers with a command; write headers for a server with a url")
	}
	r.checkKey(path, s.Key)
	r.checkTLS(path, s.TLS)
	r.checkOAuth(path+".oauth", s.OAuth)
	if s.OAuth != nil && s.set() {
		r.problemf(path, "has both an API key and oauth; keep one")
	}
	r.checkCallerOAuth(path+".caller_oauth", s.CallerOAuth)
	if hasCommand && (s.OAuth != nil || s.CallerToken || s.CallerOAuth != nil) {
		r.problemf(path, "has oauth, caller_token or caller_oauth, which are for servers with a url; write env for a server with a command")
	}
	if hasCommand && (s.set() || s.TLS != TLS{}) {
		r.problemf(path, "has an API key or TLS files, which are for servers with a url; write env for a server with a command")
	}
	if s.Headers != nil && hasCommand {
		r.problemf(path+".headers", "is for servers with a url; write env for a server with a command")
	}
}

func (r *reader) checkAgent(name string, a Agent, cfg *Config) {
	path := "agents." + name
	switch _, known := cfg.Models[a.Model]; {
	case r.hasProblem(path) || r.hasProblem(path+".model"):
	case a.Model == "":
		r.problemf(path+".model", "missing; name one of the models")
	case !known && !r.hasProblem("models"):
		r.problemf(path+".model", "%q is not one of the models; %s", a.Model, suggestBut(a.Model, cfg.Models, a.Fallback...))
	}
	for i, name := range a.Fallback {
		item := fmt.Sprintf("%s.fallback[%d]", path, i)
		switch _, known := cfg.Models[name]; {
		case r.hasProblem(item) || r.hasProblem("models"):
		case !known:
			r.problemf(item, "%q is not one of the models; %s", name, suggestBut(name, cfg.Models, append([]string{a.Model}, a.Fallback...)...))
		case name == a.Model || slices.Contains(a.Fallback[:i], name):
			r.problemf(item, "%q is already the model or an earlier fallback of this agent; name each model once", name)
		}
	}
	for i, name := range a.Choices.Models {
		item := fmt.Sprintf("%s.choices.models[%d]", path, i)
		if _, known := cfg.Models[name]; !known && !r.hasProblem(item) && !r.hasProblem("models") {
			r.problemf(item, "%q is not one of the models; %s", name, suggestBut(name, cfg.Models, a.Choices.Models...))
		}
	}
	offered := map[string]string{} // maps each tool and sub-agent to the path of its entry
	checkOnce := func(field string, names []string, check func(item, name string)) {
		for i, name := range names {
			item := fmt.Sprintf("%s.%s[%d]", path, field, i)
			switch first, again := offered[name]; {
			case r.hasProblem(item):
			case again:
				r.problemf(item, "%q is given twice; first as %s; remove one", name, first)
			default:
				offered[name] = item
				check(item, name)
			}
		}
	}
	checkOnce("tools", a.Tools, func(item, tool string) { r.checkTool(item, tool, cfg) })
	checkOnce("agents", a.Agents, func(item, sub string) {
		if _, ok := cfg.Agents[sub]; !ok {
			r.problemf(item, "%q is not one of the agents; %s", sub, suggestBut(sub, cfg.Agents, append([]string{name}, a.Agents...)...))
		}
	})
	for i, sub := range a.Background {
		if item := fmt.Sprintf("%s.background[%d]", path, i); !r.hasProblem(item) && !slices.Contains(a.Agents, sub) {
			r.problemf(item, "%q is not among the agents of this agent; add it to agents, too", sub)
		}
	}
	r.checkGuardrails(path+".guardrails.messages", a.Guardrails.Messages, cfg)
	r.checkGuardrails(path+".guardrails.answers", a.Guardrails.Answers, cfg)
	r.checkApproval(path, a, cfg)
	if r.present(path+".instructions") && r.present(path+".instructions_file") {
		r.problemf(path, "has both instructions and instructions_file; keep one")
	}
	if len(a.Limits.Message) > agent.MaxLimitMessage {
		r.problemf(path+".limits.message", "has %d bytes; the limit is %d: shorten it", len(a.Limits.Message), agent.MaxLimitMessage)
	}
	if r.present(path+".limits.message") && strings.TrimSpace(a.Limits.Message) == "" && !r.hasProblem(path+".limits.message") {
		r.problemf(path+".limits.message", "is empty; write a text, or leave it out for one that names the limit")
	}
	if m, known := cfg.Models[a.Model]; known {
		field := "models." + a.Model + ".retry_for"
		if err := protocol.CheckRetryFor(m.RetryFor, a.Limits.Time); err != nil && !r.hasProblem(field) {
			r.problemf(field, "%v (%s.limits.time)", err, path)
		}
	}
	if a.Limits.Cost > 0 && !r.hasProblem("models") && !r.hasProblem(path+".model") && !r.priced(cfg, a, map[string]bool{}) {
		r.problemf(path+".limits.cost", "is set, but no model of this agent has a price, so that nothing would count; add price to the models, or remove the limit")
	}
}

// priced reports whether a model of the agent or of its sub-agents has a price. `seen` has the sub-agents that were visited,
// because the agents may have a cycle.
func (r *reader) priced(cfg *Config, a Agent, seen map[string]bool) bool {
	if slices.ContainsFunc(a.Models(), func(model string) bool { return r.present("models." + model + ".price") }) {
		return true
	}
	return slices.ContainsFunc(a.Agents, func(sub string) bool {
		again := seen[sub]
		seen[sub] = true
		return !again && r.priced(cfg, cfg.Agents[sub], seen)
	})
}

// checkApproval reports each key in the field `approval` of an agent that can match no tool and no sub-agent of this agent. A
// tool of an MCP server may be missing at the server, which only the worker can find out.
func (r *reader) checkApproval(path string, a Agent, cfg *Config) {
	if r.present(path+".approval") && a.Approval == nil {
		r.problemf(path+".approval", "has no rules; write default: never, always or destructive, or remove it")
	}
	if r.hasProblem(path+".tools") || r.hasProblem(path+".agents") {
		return
	}
	own := cfg.tools()
	known, offered := map[string]bool{"default": true}, map[string]bool{"default": true}
	for field, names := range map[string][]string{"tools": a.Tools, "agents": a.Agents} {
		for i, name := range names {
			keys := []string{name}
			server, _ := SplitTool(name)
			if server != "" {
				keys = append(keys, server+".*")
			}
			exists := !r.hasProblem(fmt.Sprintf("%s.%s[%d]", path, field, i)) && (field == "agents" || server != "" || !r.onlyOwnTools || own[name])
			for _, key := range keys {
				known[key] = true
				if exists {
					offered[key] = true
				}
			}
		}
	}
	for _, key := range sorted(a.Approval) {
		server, tool := SplitTool(key)
		if !known[key] && (tool == "" || !slices.Contains(a.Tools, server+".*")) {
			r.problemf(path+".approval."+key, "matches no tool or sub-agent of this agent; %s", suggest(key, offered))
		}
	}
}

func (r *reader) checkTool(path, tool string, cfg *Config) {
	server, name := SplitTool(tool)
	switch _, known := cfg.MCPServers[server]; {
	case server == "" && !toolName.MatchString(name):
		r.problemf(path, "%q is not the name of a tool; write calculator for a built-in tool, server.tool for one tool of an MCP server, server.* for all", tool)
	case server == "":
	case !known && !r.hasProblem("mcp_servers"):
		r.problemf(path, "%q is not one of the mcp_servers; %s", server, suggestBut(server, cfg.MCPServers))
	case name == "":
		r.problemf(path, "names a server and no tool; write %s.* for all tools of the server", server)
	}
}

func (r *reader) checkGuardrails(path string, names []string, cfg *Config) {
	for i, name := range names {
		item := fmt.Sprintf("%s[%d]", path, i)
		switch _, all := strings.CutSuffix(name, ".*"); {
		case r.hasProblem(item):
		case all:
			r.problemf(item, "%q is more than one tool; write server.tool", name)
		case slices.Contains(names[:i], name):
			r.problemf(item, "%q is given twice; remove one", name)
		default:
			r.checkTool(item, name, cfg)
		}
	}
}

// SplitTool splits an entry of [Agent.Tools] at the first dot. The first part is the name of an MCP server. The second part
// is the name of a tool at this server, or "*" for all its tools. An entry without a dot is a built-in tool or a Go tool.
// Then `server` is empty, and `tool` is the whole entry.
func SplitTool(entry string) (server, tool string) {
	server, tool, ok := strings.Cut(entry, ".")
	if !ok {
		return "", entry
	}
	return server, tool
}

// checkCycles reports each entry that makes an agent its own sub-agent, directly or through other sub-agents. Without this
// check, such agents would start each other until they reach the limit `depth`.
func (r *reader) checkCycles(cfg *Config) {
	done := map[string]bool{}
	var visit func(name string, above []string)
	visit = func(name string, above []string) {
		above = append(above, name)
		for i, sub := range cfg.Agents[name].Agents {
			if at := slices.Index(above, sub); at >= 0 {
				r.problemf(fmt.Sprintf("agents.%s.agents[%d]", name, i), "a cycle: %s -> %s; an agent cannot be its own sub-agent, so remove one of these entries",
					strings.Join(above[at:], " -> "), sub)
			} else if !done[sub] {
				visit(sub, above)
			}
		}
		done[name] = true
	}
	for _, name := range sorted(cfg.Agents) {
		if !done[name] {
			visit(name, nil)
		}
	}
}
