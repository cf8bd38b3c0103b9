package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/cmd/starter/internal/view"
	"github.com/reagent-dev/reagent/internal/app/usage"
)

func newUpgrade(g *session.Flags) *cobra.Command {
	var asJSON bool
	var limit time.Duration
	cmd := &cobra.Command{
		Use:   "upgrade ID",
		Short: "Move an agent to the current version of its workers",
		Long: `upgrade moves an agent to the current version of its workers (worker --deployment). You
need it for agents of workers with --pinned, which otherwise stay on their version until
their history has grown long.

The agent continues in a new run as soon as no model or tool call is running. Nothing is
repeated.`,
		Example:           "  starter upgrade talk",
		Args:              usage.OneID,
		ValidArgsFunction: g.CompleteIDs(1, client.Running),
		RunE: func(cmd *cobra.Command, args []string) error {
			return session.Change(cmd, g, args[0], limit, func(ctx context.Context, c *client.Client, taken func()) error {
				run, err := c.UpgradeAndWait(ctx, args[0], taken)
				if err != nil {
					return session.GoesOn(cmd.Context(), err, args[0])
				}
				if asJSON {
					return view.JSON(cmd.OutOrStdout(), struct {
						ID  string `json:"id"`
						Run string `json:"run"`
					}{args[0], run})
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "Agent %s goes on in run %s\n", args[0], run)
				return err
			})
		},
	}
	session.AddWait(cmd, &limit, session.DefaultWait)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the ID of the new run as JSON")
	return cmd
}
