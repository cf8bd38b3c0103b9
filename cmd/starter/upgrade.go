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
		Short: "Let an agent go on with the current version of the workers",
		Long: `upgrade lets an agent go on in a new run, as soon as no model or tool call runs. If the
workers have versions (worker --deployment), the new run begins on the current version.
An agent of pinned workers stays on its version until then. Nothing is repeated.`,
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
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
