package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/internal/app/usage"
)

func newClose(g *session.Flags) *cobra.Command {
	var limit time.Duration
	cmd := &cobra.Command{
		Use:   "close ID",
		Short: "End an agent when it has answered its messages",
		Long: `close ends an agent as soon as it has answered all messages that it has received. An agent
that is waiting for a message ends at once.

close needs a worker, and waits for one as long as --wait allows.`,
		Example:           "  starter close talk",
		Args:              usage.OneID,
		ValidArgsFunction: g.CompleteIDs(1, client.Running),
		RunE: func(cmd *cobra.Command, args []string) error {
			return session.Change(cmd, g, args[0], limit, func(ctx context.Context, c *client.Client, _ func()) error {
				err := c.Close(ctx, args[0])
				if err == nil {
					fmt.Fprintf(cmd.ErrOrStderr(), "Closing agent %s\n", args[0])
				}
				return err
			})
		},
	}
	session.AddWait(cmd, &limit, session.DefaultWait)
	return cmd
}
