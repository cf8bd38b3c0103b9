package serve

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent"
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/config"
	"github.com/reagent-dev/reagent/tool/mcp"
)

// whole returns the configuration without the models, tools, hooks and callbacks that have a mistake in the file, and says that they were not
// checked further. `missing` are the mistakes of the environment.
func (c *checker) whole(missing []config.Problem) *config.Config {
	part := *c.cfg
	for _, section := range []string{"models", "mcp_servers", "external", "builtin", "builtin.files_root", "builtin.shell", "builtin.shell.folder"} {
		if c.reported(section) && c.cfg.Broken(section) != "" {
			c.skip(section, "could not be read, so what depends on it was not checked")
		}
	}
	part.Models = withoutBroken(c, "models.", part.Models)
	part.External = withoutBroken(c, "external.", part.External)
	part.Notify = withoutBroken(c, "notify.", part.Notify)
	part.MCPServers = maps.Clone(part.MCPServers)
	maps.DeleteFunc(part.MCPServers, func(name string, _ config.MCPServer) bool { return c.cfg.Broken("mcp_servers."+name) != "" }) // choose says so
	if broken := c.cfg.Broken("callbacks"); broken != "" {
		part.Callbacks = nil
		c.skip("callbacks", because("not checked further", broken))
	}
	if part.Tools.Shell != nil && slices.ContainsFunc(missing, func(p config.Problem) bool { return strings.HasPrefix(p.Field, "builtin.shell.") }) {
		part.Tools.Shell = &config.Shell{Folder: part.Tools.Shell.Folder, Timeout: part.Tools.Shell.Timeout}
	}
	return &part
}

func withoutBroken[T any](c *checker, section string, all map[string]T) map[string]T {
	part := map[string]T{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if broken := c.cfg.Broken(section + name); broken != "" {
			c.skip(section+name, because("not checked further", broken))
		} else {
			part[name] = all[name]
		}
	}
	return part
}

func because(what, broken string) string {
	return fmt.Sprintf("%s, because of the mistake in %s", what, broken)
}

// choose leaves out of the options what is not to be checked, or cannot be, because something on which it depends was reported or is not there.
// Of an agent, everything else stays. `missing` are the mistakes of the environment.
func (c *checker) choose(options *reagent.Options, o CheckOptions, missing []config.Problem) {
	started := c.chooseServers(o, missing)
	options.MCPServers = slices.DeleteFunc(options.MCPServers, func(s mcp.Server) bool { return !started[s.Name] })
	if len(options.Tools) == 0 && len(options.Agents) > 0 {
		c.skip("builtin", "the tools could not be made, so the agents' rules for them were not checked")
	}
	for i := range options.Agents {
		c.chooseParts(&options.Agents[i], options, started)
	}
}

// chooseServers returns the names of the MCP servers that are to be started.
func (c *checker) chooseServers(o CheckOptions, missing []config.Problem) map[string]bool {
	started, told := map[string]bool{}, map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(c.cfg.MCPServers)) {
		field := "mcp_servers." + name
		lacking := slices.IndexFunc(missing, func(p config.Problem) bool { return strings.HasPrefix(p.Field, field+".") })
		switch broken := c.cfg.Broken(field); {
		case !usesServer(c.cfg, name):
		case broken != "":
			c.skip(field, because("not started", broken))
		case o.NoMCPServers:
			c.skip(field, "not started")
		case lacking >= 0:
			told[missing[lacking].Field] = true
			c.skip(field, "not started: "+missing[lacking].Message)
		default:
			started[name] = true
		}
	}
	for _, p := range missing {
		if o.NoEnvironment && !told[p.Field] {
			p.Message = "left out: " + p.Message
			c.unchecked = append(c.unchecked, p)
		}
	}
	return started
}

// chooseParts leaves out the tools of agents of which is not known whether they exist, and everything of the agent that was reported. It gives
// the agent stand-ins for models that have a mistake.
func (c *checker) chooseParts(a *reagent.Agent, options *reagent.Options, started map[string]bool) {
	field := "agents." + a.Name + "."
	dropped := map[string]bool{}
	known := []string{agent.AskUser, agent.ReadResult}
	for _, t := range options.Tools {
		known = append(known, t.Spec().Name)
	}
	item := func(list string, i int) bool { return c.reported(fmt.Sprintf("%s%s[%d]", field, list, i)) }
	for n, entry := range a.Tools {
		server, _ := config.SplitTool(entry)
		dropped[entry] = server == "" && !slices.Contains(known, entry) || server != "" && !started[server] || item("tools", n)
	}
	for n, sub := range a.Agents {
		dropped[sub] = dropped[sub] || item("agents", n)
	}
	drop := func(entry string) bool { return dropped[entry] }
	a.Tools, a.Agents = slices.DeleteFunc(slices.Clone(a.Tools), drop), slices.DeleteFunc(slices.Clone(a.Agents), drop)
	a.Background = slices.DeleteFunc(slices.Clone(a.Background), func(sub string) bool { return !slices.Contains(a.Agents, sub) })
	guardrails := func(list string, names []string) (known []string) {
		for n, name := range names {
			if server, _ := config.SplitTool(name); started[server] && !item("guardrails."+list, n) {
				known = append(known, name)
			}
		}
		return known
	}
	a.Guardrails = reagent.Guardrails{Messages: guardrails("messages", a.Guardrails.Messages), Answers: guardrails("answers", a.Guardrails.Answers)}
	policy := reagent.ApprovalPolicy{}
	for key, rule := range a.Approval {
		if server, _ := config.SplitTool(key); !dropped[key] && (server == "" || started[server]) && !c.reported(field+"approval."+key) {
			policy[key] = rule
		}
	}
	for _, list := range []string{"tools", "agents"} {
		if c.reported(field+list) && len(policy) > 0 {
			policy = nil
			c.skip(field+"approval", because("not checked", field+list))
		}
	}
	a.Approval = policy
	if c.cfg.Broken(field+"limits") != "" {
		a.Limits = agent.Limits{}
	}
	if c.reported(field + "output_schema") {
		a.OutputSchema = nil
	}
	for _, list := range []*[]string{&a.Fallback, &a.Choices.Models} {
		*list = slices.DeleteFunc(slices.Clone(*list), func(name string) bool { _, known := options.Models[name]; return !known })
	}
	a.Model = cmp.Or(a.Model, standIn.Name)
	if _, known := options.Models[a.Model]; !known {
		options.Models[a.Model] = standIn
	}
}

// standIn lets an agent be checked whose own model has a mistake. It has a price, as the agent may have a limit of cost.
var standIn = reagent.Model{Name: "none", BaseURL: "http://127.0.0.1:1/v1", Price: agent.Price{Input: 1}}
