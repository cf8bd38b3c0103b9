package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/bulk"
	"github.com/reagent-dev/reagent/cmd/starter/internal/input"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/internal/app/usage"
)

func newForget(g *session.Flags) *cobra.Command {
	var f bulk.Forget
	cmd := &cobra.Command{
		Use:   "forget {--metadata NAME=VALUE | --where EXPRESSION}",
		Short: "End and delete all agents of a customer",
		Long: `forget ends and deletes all agents that match, the sub-agents below them, and all their
histories. It finds agents that are running and agents that have ended, also those whose ID
belongs to a newer agent. Forks have the metadata of their original agent, so --metadata
finds them, too.

An agent that has not ended is cancelled. If it has not ended after --grace, it is
terminated. The command returns when Temporal has deleted everything, which may take a
minute. It does not touch other agents. Their answers may contain what a deleted sub-agent
has said: at its end, the command lists where else to look.

A terminal asks for the number of agents. If the command is interrupted, repeat it.
Nothing that was deleted can be restored.`,
		Example: `  starter forget --metadata customer=42 --dry-run
  starter forget --metadata customer=42
  starter forget --where 'metadata.customer == "42" and not open' --yes`,
		Args: usage.NoArguments,
		RunE: g.OnAgent(func(cmd *cobra.Command, _ []string, c *client.Client, _ string) error {
			return f.Run(cmd, c, g.Namespace)
		}),
	}
	bulk.AddWhere(cmd, &f.Where, "agents for which this `expression` is true: see \"starter list --help\"")
	input.AddMetadata(cmd.Flags(), &f.Metadata, "agents with this metadata")
	bulk.AddRun(cmd, &f.DryRun, &f.Yes, &f.Rate)
	cmd.Flags().DurationVar(&f.Grace, "grace", 10*time.Second, "how long an agent may take to end before it is terminated")
	cmd.Flags().BoolVar(&f.JSON, "json", false, "print an object on a line for each agent")
	return cmd
}
