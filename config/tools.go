package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/reagent-dev/reagent/agent"
)

// ownTools has the names of the tools that each worker has: the built-in tools without `shell`, and those of the agents themselves.
func ownTools() map[string]bool {
	tools := map[string]bool{"calculator": true, "current_time": true, "http_get": true, agent.AskUser: true, agent.ReadResult: true}
	for _, name := range fileTools {
		tools[name] = true
	}
	return tools
}

func (r *reader) checkExternal(cfg *Config) {
	own := ownTools()
	if r.present("builtin." + shellTool) {
		own[shellTool] = true
	}
	for _, name := range sorted(cfg.External) {
		if own[name] {
			r.problemf("external."+name, "the worker has a tool with this name already; choose another name")
		}
	}
}

// tools has the names of all tools of a worker whose tools are in the configuration, except those of MCP servers.
func (c *Config) tools() map[string]bool {
	known := ownTools()
	if c.Tools.Shell != nil {
		known[shellTool] = true
	}
	for name := range c.External {
		known[name] = true
	}
	return known
}

// CheckTools returns an [*Error] with these problems:
//   - An entry of the `tools` of an agent is not a built-in tool, not an external tool, and not a tool of an MCP server. Whether an MCP
//     server has a tool is known only after the worker has connected to it.
//   - A guardrail is not a tool of an MCP server.
//   - A folder of `builtin` does not exist or is not a folder. The folder of the tool `shell` counts only if an agent has this tool.
//
// A worker whose tools are all in the configuration calls CheckTools before it starts. [Parse] does not, because a program may have tools
// of its own.
func (c *Config) CheckTools() error {
	known := c.tools()
	var problems []Problem
	for _, name := range sorted(c.Agents) {
		for i, entry := range c.Agents[name].Tools {
			path := fmt.Sprintf("agents.%s.tools[%d]", name, i)
			switch server, tool := SplitTool(entry); {
			case server != "" || known[tool] || c.failed["external"]:
			case tool == shellTool && c.failed["builtin"]:
			case tool == shellTool && c.Broken("builtin."+shellTool) != "":
			case tool == shellTool:
				problems = append(problems, c.source.at(path, "the tool shell is not configured; write shell: {} in builtin, or remove it here"))
			default:
				problems = append(problems, c.source.at(path, "%q is not one of the tools; %s", tool, suggest(tool, known)))
			}
		}
		problems = append(problems, c.checkGuardrails(name, "messages", c.Agents[name].Guardrails.Messages)...)
		problems = append(problems, c.checkGuardrails(name, "answers", c.Agents[name].Guardrails.Answers)...)
	}
	problems = append(problems, c.checkFolder("builtin.files_root", c.Tools.Root)...)
	if c.userOf(shellTool) != "" && c.Tools.Shell.Folder != c.Tools.Root {
		problems = append(problems, c.checkFolder("builtin.shell.folder", c.Tools.Shell.Folder)...)
	}
	return c.found(problems)
}

func (c *Config) checkGuardrails(agent, kind string, names []string) (problems []Problem) {
	for i, name := range names {
		if server, _ := SplitTool(name); server == "" {
			problems = append(problems, c.source.at(fmt.Sprintf("agents.%s.guardrails.%s[%d]", agent, kind, i),
				"%q is not a tool of an MCP server; write server.tool, because this worker has no guardrails of its own", name))
		}
	}
	return problems
}

func (c *Config) checkFolder(field, folder string) []Problem {
	info, err := os.Stat(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return []Problem{c.source.at(field, "the folder %s does not exist", folder)}
	case err != nil:
		return []Problem{c.source.at(field, "the folder cannot be used: %v", err)}
	case !info.IsDir():
		return []Problem{c.source.at(field, "%s is not a folder", folder)}
	}
	return nil
}
