package main

import (
	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/internal/app/serve"
	"github.com/reagent-dev/reagent/internal/app/usage"
)

func newCheck(g *session.Flags) *cobra.Command {
	var o serve.CheckOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check the configuration without a worker",
		Long: `check finds the mistakes for which a worker would not start, and names all of them at once
with their lines and fields. It needs no Temporal server. It checks the file, the environment
variables and files to which it refers, and the definition of each agent. It starts each
MCP server that an agent uses, looks for the tools that agents name, and stops the server
again. It asks no model. What could not be checked is named, too, for example an MCP server
whose settings have a mistake.

With --json, check prints one object of the type "check": see docs/json.md.

The exit code is 0 if there is no mistake, and 2 if there is one. Of the global flags,
check uses only --config. "worker --check" does the same.`,
		Example: `  starter check
  starter check --config agents.yaml --no-environment --no-mcp-servers   # in CI, without secrets
  starter check --json | jq -r '.problems[] | "\(.line) \(.field)"'`,
		Args: usage.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Config = g.ConfigPath
			report, err := serve.Check(cmd.Context(), o, cmd.ErrOrStderr())
			switch {
			case cmd.Context().Err() != nil:
				return err // a signal has stopped the check
			case err != nil:
				return exit.Errorf(exit.Usage, "%w", err)
			}
			if err := report.Write(cmd.OutOrStdout(), asJSON); err != nil {
				return err
			}
			if !report.OK {
				return exit.Errorf(exit.Usage, "%s", report.Summary())
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.NoEnvironment, "no-environment", false, "leave out environment variables and the files with keys; MCP servers that miss one are not started")
	f.BoolVar(&o.NoMCPServers, "no-mcp-servers", false, "start no MCP servers; their tools are then not checked")
	f.BoolVar(&asJSON, "json", false, "print the result as one object")
	return cmd
}
