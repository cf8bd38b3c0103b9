package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/internal/app/object"
)

func newUpgrade(g *session.Flags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "upgrade ID",
		Short: "Move an agent to the current version of its workers",
		Long: `upgrade moves an agent to the current version of its workers (see --deployment in
"worker --help"). You
need it for agents of workers with --pinned, which otherwise stay on their version until
their history has grown long.

The agent continues in a new run as soon as no model or tool call is running. Nothing is
repeated.`,
		Example: "  starter upgrade talk",
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the ID of the new run in an object")
	return session.Changing(g, cmd, func(ctx context.Context, cmd *cobra.Command, c *client.Client, id string, taken func()) error {
		run, err := c.UpgradeAndWait(ctx, id, taken)
		if err != nil {
			return session.GoesOn(cmd.Context(), err, id)
		}
		if asJSON {
			return object.Print(cmd.OutOrStdout(), object.Outcome{ID: id, Outcome: object.Done, RunID: run})
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "Agent %s goes on in run %s\n", id, run)
		return err
	})
}
