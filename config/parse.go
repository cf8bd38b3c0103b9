package config

import (
	"encoding/json"
	"path/filepath"
	"regexp"

	"go.yaml.in/yaml/v3"

	"github.com/reagent-dev/reagent/tool"
)

var (
	toolName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	envName  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

const (
	nameHelp     = "1 to 64 letters, digits, _ or -"
	toolNameHelp = nameHelp + "; model endpoints accept no other names"
	hookEnvHelp  = "must be the name of an environment variable, such as HOOK_SECRET, and never the secret itself"
	envNameHelp  = "must be the name of an environment variable, such as OPENAI_API_KEY, and never the key itself"
)

// Parse reads and validates the content of a configuration file, and reads the files with instructions that it names. `name` is the path of the
// configuration file. Error texts contain the path, and relative paths in the configuration are relative to the file's folder. The error is
// an [*Error].
func Parse(name string, data []byte) (*Config, error) {
	cfg, err := parsePart(name, data, false)
	if err != nil {
		return nil, err
	}
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
	p.requires("agents")
	r.object(p, keys{
		"task_queue": {"The Temporal task queue of the agents and their workers.", r.text(&cfg.TaskQueue)},
		"models": {"The models by name. Agents refer to them by these names.",
			func(p place) { r.entries(p, func(name string, p place) { cfg.Models[name] = r.model(p) }) }},
		"mcp_servers": {"The MCP servers by name. An agent has their tools as NAME.* or NAME.TOOL.",
			named(r, cfg.MCPServers, "is not the name of a server; write "+nameHelp, r.mcpServer)},
		"agents": {"The agents by name. There is at least one.", named(r, cfg.Agents, "is not the name of an agent; write "+toolNameHelp, r.agent)},
		"external": {"The tools whose results come from outside, by name.",
			named(r, cfg.External, "is not the name of a tool; write "+toolNameHelp, r.external)},
		"notify": {"The hooks by name: they are notified when an agent waits for a person, is held, or ends.",
			named(r, cfg.Notify, "is not the name of a hook; write "+nameHelp, r.hook)},
		"callbacks":     {"Lets the results of external tools come by HTTP.", func(p place) { cfg.Callbacks = r.callbacks(p) }},
		"caller_tokens": {"Where the tokens come from with which tools act for callers.", func(p place) { cfg.CallerTokens = r.callerTokens(p) }},
		"ui": {"What Temporal's Web UI and lists show of the agents.", func(p place) {
			r.object(p, keys{
				"content": {"Whether they show what people, models and tools say: all, which is the default, or none.",
					r.oneOf(&cfg.UI.Content, "is %q; write all or none", "all", NoContent)},
			})
		}},
		"builtin": {"The settings of the built-in tools.", func(p place) {
			r.object(p, keys{
				"files_root": {"The folder that the file tools see, relative to this file; by default the folder of this file.", r.filePath(&cfg.Tools.Root)},
				"http_allow_private": {"Lets http_get connect to private and loopback addresses, such as the metadata service of a cloud provider.",
					r.boolean(&cfg.Tools.HTTPAllowPrivate)},
				"shell": {"The settings of the tool shell. Without this field, there is no such tool.", func(p place) { cfg.Tools.Shell = r.shell(p) }},
			})
		}},
	})
	return cfg
}

// named returns a function that reads a mapping of names to values of one kind, such as agents. `help` ends the error text about a name that
// is not allowed.
func named[T any](r *reader, into map[string]T, help string, read func(place) T) func(place) {
	return func(p place) { r.named(p, toolName, help, func(name string, p place) { into[name] = read(p) }) }
}

func (r *reader) external(p place) External {
	var e External
	r.object(p, keys{
		"description": {"What the tool does, for the model.", r.text(&e.Description)},
		"arguments":   {"The JSON schema of the arguments. Without it, any arguments are valid.", r.schema(&e.Arguments)},
		"timeout":     {"How long a call waits for its result; without limit by default.", r.duration(&e.Timeout)},
	})
	return e
}

func (r *reader) shell(p place) *Shell {
	s := &Shell{Timeout: DefaultShellTimeout}
	r.object(p, keys{
		"folder":  {"The working folder of the commands, relative to this file; files_root by default.", r.filePath(&s.Folder)},
		"timeout": {"The longest time of one command, at most 9m.", r.duration(&s.Timeout)},
		"env": {"Environment variables of the worker that the commands get, by name.", r.texts(&s.Env, func(into *string) func(place) {
			return r.matching(into, envName, "must be the name of an environment variable of the worker, such as GOPATH, and never its value")
		})},
	})
	return s
}

func (r *reader) schema(to *json.RawMessage) func(place) {
	return func(p place) {
		if p.shape != nil {
			p.shape.Type = "object"
			return
		}
		if p.node.Kind != yaml.MappingNode {
			r.problemf(p.path, "must be a JSON schema: a mapping, not %s", kindOf(p.node))
			return
		}
		before := len(r.problems)
		text := json.RawMessage(r.json(p))
		if len(r.problems) > before {
			return
		}
		if err := tool.CanCheck(text); err != nil {
			r.problemf(p.path, "is not a schema against which values can be checked: %v", err)
		}
		*to = text
	}
}
