package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/config"
	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/app/serve"
	"github.com/reagent-dev/reagent/internal/plural"
)

// ofServer is the beginning of the fields of MCP servers.
const ofServer = "mcp_servers."

func checkConfiguration(ctx context.Context, p *patient) []object.Finding {
	path := cmp.Or(p.flags.ConfigPath, os.Getenv(session.ConfigEnv))
	report, err := serve.Check(ctx, serve.CheckOptions{Config: path, NoMCPServers: !p.options.MCP}, p.stderr)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return []object.Finding{wrong("the check of the configuration did not end in time", "find the MCP server that does not start: `starter check`", "starter check")}
	case err != nil && path == "":
		if _, missing := os.Stat("agents.yaml"); errors.Is(missing, fs.ErrNotExist) {
			return []object.Finding{unchecked("the configuration and its models: there is no agents.yaml here, and --config names no other file")}
		}
		fallthrough
	case err != nil:
		return []object.Finding{wrong(err.Error(), "name the configuration of the workers with --config or "+session.ConfigEnv)}
	}
	p.report = &report
	p.cfg, _ = config.LoadPart(cmp.Or(path, "agents.yaml")) // the report has the mistakes
	var found []object.Finding
	for _, problem := range report.Problems {
		if !strings.HasPrefix(problem.Field, ofServer) {
			found = append(found, wrong(problem.String(), "correct the file; `starter check` checks it again", "starter check"))
		}
	}
	for _, skipped := range report.Unchecked {
		if !strings.HasPrefix(skipped.Field, ofServer) {
			found = append(found, unchecked(skipped.String()))
		}
	}
	if len(found) == 0 {
		found = append(found, well("the configuration has no mistakes: %s, %s", plural.Of(report.Agents, "agent"), plural.Of(report.Models, "model")))
	}
	return found
}

// checkServers tells what the check of the configuration has found about MCP servers.
func checkServers(_ context.Context, p *patient) []object.Finding {
	if p.report == nil {
		return []object.Finding{unchecked("the MCP servers: there is no configuration that can be read")}
	}
	var found []object.Finding
	for _, problem := range p.report.Problems {
		if strings.HasPrefix(problem.Field, ofServer) {
			found = append(found, wrong(problem.String(), "correct the server or its settings; `starter check` starts it again", "starter check"))
		}
	}
	notStarted := 0
	for _, skipped := range p.report.Unchecked {
		switch {
		case !strings.HasPrefix(skipped.Field, ofServer):
		case p.options.MCP:
			found = append(found, unchecked(skipped.String()))
		default:
			notStarted++
		}
	}
	switch {
	case notStarted > 0:
		found = append(found, unchecked(fmt.Sprintf("%s not started: --mcp starts what agents use, and stops it again", plural.Of(notStarted, "MCP server"))))
	case len(found) == 0 && p.report.MCPServers == 0:
		found = append(found, well("the agents of the configuration use no MCP servers"))
	case len(found) == 0:
		found = append(found, well("%s started, with all tools that agents name", plural.Of(p.report.MCPServers, "MCP server")))
	}
	return found
}
