package serve

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent"
	"github.com/reagent-dev/reagent/config"
	"github.com/reagent-dev/reagent/internal/redact"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/anthropic"
	"github.com/reagent-dev/reagent/tool"
	"github.com/reagent-dev/reagent/tool/builtin"
	"github.com/reagent-dev/reagent/tool/mcp"
)

// agentOptions reads the API keys, environment variables and files to which the configuration refers. It leaves out MCP servers that no
// agent uses, and models that [modelOptions] leaves out. The error has everything that cannot be read; the options then have the rest.
func agentOptions(cfg *config.Config, o Options) (reagent.Options, error) {
	options := reagent.Options{
		TaskQueue: cfg.TaskQueue, ResultsDir: o.ResultsDir, Development: o.Dev, Secrets: redact.OnlyRandom(cfg.Secrets()), Agents: servedAgents(cfg),
		NoUIContent: cfg.UI.Content == config.NoContent,
	}
	var errs [7]error
	options.Models, errs[0] = modelOptions(cfg)
	options.Tools, errs[1] = tools(cfg)
	options.Notify, errs[2] = hooks(cfg)
	options.Callbacks, errs[3] = callbackOptions(cfg)
	options.CallerTokens, errs[6] = callerTokens(cfg)
	here, err := statefulHere(cfg, o.Stateful)
	errs[4] = err
	options.MCPServers, errs[5] = mcpServers(cfg)
	for _, server := range options.MCPServers {
		if server.Stateful && !here[server.Name] {
			options.Elsewhere = append(options.Elsewhere, server.Name)
		}
	}
	return options, errors.Join(errs[:]...)
}

func servedAgents(cfg *config.Config) []reagent.Agent {
	var all []reagent.Agent
	for _, name := range slices.Sorted(maps.Keys(cfg.Agents)) {
		a := cfg.Agents[name]
		all = append(all, reagent.Agent{
			Name: name, Description: a.Description, Model: a.Model, Fallback: a.Fallback, Instructions: a.Instructions,
			Tools: a.Tools, Agents: a.Agents, Approval: approvalPolicy(a.Approval), ApprovalTimeout: a.ApprovalTimeout, Background: a.Background,
			Choices:    reagent.Choices(a.Choices),
			KeepAgents: a.KeepAgents, Priority: a.Priority, OutputSchema: a.OutputSchema, Guardrails: a.Guardrails, Limits: a.Limits,
		})
	}
	return all
}

// tools returns the built-in tools, and those whose results come from outside.
func tools(cfg *config.Config) ([]tool.Tool, error) {
	options, err := builtinOptions(cfg)
	if err != nil {
		return nil, err
	}
	all, err := builtin.Tools(options)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.External)) {
		e := cfg.External[name]
		external, err := tool.NewExternal(tool.Spec{Name: name, Description: e.Description, Schema: e.Arguments, ResultTimeout: e.Timeout})
		if err != nil {
			return nil, fmt.Errorf("external %s: %w", name, err)
		}
		all = append(all, external)
	}
	return all, nil
}

// modelOptions converts the models of a configuration. A model that no agent of the file uses is among them, because agents that
// were started with an earlier file may still have it. If the settings of such a model cannot be read, for example because its key
// is not set, the model is left out, so that it does not stop the worker.
func modelOptions(cfg *config.Config) (map[string]reagent.Model, error) {
	models := map[string]reagent.Model{}
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(cfg.Models)) {
		model, err := modelOf(cfg.Models[name])
		used := anyAgent(cfg, func(a config.Agent) bool { return slices.Contains(a.Models(), name) })
		if err != nil && used {
			problems = append(problems, fmt.Errorf("model %s: %w", name, err))
		}
		if err == nil || used {
			models[name] = model
		}
	}
	return models, errors.Join(problems...)
}

func modelOf(m config.Model) (reagent.Model, error) {
	key, keyErr := m.APIKey()
	if len(m.APIKeyCommand) > 0 {
		key = "a key" // the command runs when the first request needs the key
	}
	_, credentialErr := m.Credential(key) // says what is missing; each request gets the credential of its time
	connection, tlsErr := m.TLS.Config()
	return reagent.Model{
		Name: m.Model, Provider: m.Provider, Platform: anthropic.Platform(m.Platform), API: m.API, BaseURL: m.BaseURL, TLS: connection,
		Credential: source(m.Key, m.Credential, llm.Credential.Equal),
		Timeout:    m.Timeout, IdleTimeout: m.IdleTimeout, NoStream: m.NoStream, PromptCache: reagent.PromptCache(m.PromptCache),
		Reasoning: reagent.Reasoning(m.Reasoning), Params: m.Params, Price: m.Price,
		RequestsPerMinute: m.RequestsPerMinute, TokensPerMinute: m.TokensPerMinute, RetryFor: m.RetryFor,
	}, cmp.Or(keyErr, credentialErr, tlsErr)
}

// If no agent has the tool `shell`, builtinOptions leaves it out: its environment variables need not be set.
func builtinOptions(cfg *config.Config) (builtin.Options, error) {
	options := builtin.Options{
		Root: cfg.Tools.Root, Secret: cfg.SecretFiles(), Protected: cfg.ProtectedFiles(), AllowPrivate: cfg.Tools.HTTPAllowPrivate,
	}
	shell := cfg.Tools.Shell
	if shell == nil || !anyAgent(cfg, func(a config.Agent) bool { return slices.Contains(a.Tools, "shell") }) {
		return options, nil
	}
	env, err := shell.ResolveEnv()
	if err != nil {
		return options, fmt.Errorf("builtin.shell: %w", err)
	}
	options.Shell = &builtin.Shell{Folder: shell.Folder, Timeout: shell.Timeout, Env: env}
	return options, nil
}

func anyAgent(cfg *config.Config, has func(config.Agent) bool) bool {
	for _, a := range cfg.Agents {
		if has(a) {
			return true
		}
	}
	return false
}

func approvalPolicy(rules map[string]string) reagent.ApprovalPolicy {
	if rules == nil {
		return nil
	}
	policy := reagent.ApprovalPolicy{}
	for key, rule := range rules {
		policy[key] = reagent.ApprovalRule(rule)
	}
	return policy
}

// usesServer reports whether an agent has a tool or a guardrail of an MCP server.
func usesServer(cfg *config.Config, name string) bool {
	ofServer := func(entry string) bool {
		server, _ := config.SplitTool(entry)
		return server == name
	}
	return anyAgent(cfg, func(a config.Agent) bool { return slices.ContainsFunc(a.ToolEntries(), ofServer) })
}

func mcpServers(cfg *config.Config) ([]mcp.Server, error) {
	var all []mcp.Server
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(cfg.MCPServers)) {
		if !usesServer(cfg, name) {
			continue
		}
		conf := cfg.MCPServers[name]
		env, envErr := conf.ResolveEnv()
		connection, tlsErr := conf.TLS.Config()
		err := cmp.Or(envErr, tlsErr)
		server := mcp.Server{
			Name: name, CallerToken: conf.CallerToken || conf.CallerOAuth != nil, Command: conf.Command, Env: env, URL: conf.URL, TLS: connection,
			Prefix: conf.Prefix, Rename: conf.Rename, Stateful: conf.Stateful, Timeout: conf.Timeout,
		}
		switch o := conf.OAuth; {
		case conf.URL == "":
		case o != nil:
			server.Headers, err = conf.Credential("")
			server.Credential = oauthClient(*o).Credential()
		default:
			server.Credential = source(conf.Key, conf.Credential, maps.Equal)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("mcp server %s: %w", name, err))
			continue
		}
		all = append(all, server)
	}
	return all, errors.Join(problems...)
}

func hooks(cfg *config.Config) ([]reagent.Hook, error) {
	var all []reagent.Hook
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(cfg.Notify)) {
		conf := cfg.Notify[name]
		address, addressErr := conf.ResolveURL()
		secret, secretErr := conf.Secret()
		headers, headersErr := conf.ResolveHeaders()
		env, envErr := conf.ResolveEnv()
		if err := cmp.Or(addressErr, secretErr, headersErr, envErr); err != nil {
			problems = append(problems, fmt.Errorf("hook %s: %w", name, err))
			continue
		}
		all = append(all, reagent.Hook{
			Name: name, URL: address, Secret: secret, Headers: headers, Command: conf.Command, Env: env, On: conf.Occasions(), Timeout: conf.Timeout,
		})
	}
	return all, errors.Join(problems...)
}

func callbackOptions(cfg *config.Config) (*reagent.Callbacks, error) {
	if cfg.Callbacks == nil {
		return nil, nil
	}
	secret, old, err := cfg.Callbacks.ResolveSecrets()
	if err != nil {
		return nil, fmt.Errorf("callbacks: %w", err)
	}
	return &reagent.Callbacks{URL: cfg.Callbacks.URL, Secret: secret, OldSecrets: old}, nil
}

// A stateful MCP server keeps state between calls, so only one worker may run it. `flag` is the value of the flag `--stateful`: "all",
// "none", or names of servers with commas between.
func statefulHere(cfg *config.Config, flag string) (map[string]bool, error) {
	here := map[string]bool{}
	for name, server := range cfg.MCPServers {
		if server.Stateful {
			here[name] = flag == "all"
		}
	}
	if flag == "all" || flag == "none" {
		return here, nil
	}
	for name := range strings.SplitSeq(flag, ",") {
		if _, known := here[name]; !known {
			return nil, fmt.Errorf("--stateful: there is no stateful MCP server %q; use all, none, or servers of the configuration: %v",
				name, slices.Sorted(maps.Keys(here)))
		}
		here[name] = true
	}
	return here, nil
}
