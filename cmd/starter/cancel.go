package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/bulk"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/internal/app/usage"
	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/internal/shellword"
)

func newCancel(g *session.Flags) *cobra.Command {
	return bulk.Offer(g, &cobra.Command{
		Use:   "cancel {ID | --where EXPRESSION}",
		Short: "End an agent and its sub-agents now",
		Long: `cancel ends an agent and the sub-agents below it now. What their tools have done is not
undone. Calls without a result stay open, and "starter resume" goes on with them. If the
agent itself has ended, cancel ends its running sub-agents.

cancel needs no worker: Temporal keeps the request, and the agent ends as soon as a worker
is running.`,
		Example: `  starter cancel talk
  starter cancel --where 'agent == "support" and age > duration("24h")' --dry-run`,
		Args:              usage.OneID,
		ValidArgsFunction: g.CompleteIDs(1, client.Running),
		RunE: g.OnAgent(func(cmd *cobra.Command, args []string, c *client.Client, _ string) error {
			ids, err := c.Cancel(cmd.Context(), args[0])
			for _, id := range ids {
				fmt.Fprintf(cmd.ErrOrStderr(), "Cancelling agent %s\n", printable.Name(id))
			}
			if err == nil && slices.Contains(ids, args[0]) {
				fmt.Fprintf(cmd.ErrOrStderr(), "`%s` goes on from the last state.\n", shellword.Starter("resume", args[0]))
			}
			return err
		}),
	}, nil, func(*cobra.Command, []string) (bulk.Action, error) {
		return bulk.Action{Verb: "Cancel", Done: "cancelled", Statuses: bulk.Open, Do: func(ctx context.Context, t bulk.Target) (bulk.Outcome, error) {
			_, err := t.Client.Cancel(ctx, t.ID)
			return bulk.UnlessEnded(err)
		}}, nil
	})
}
