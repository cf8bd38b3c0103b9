package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/bulk"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
)

func newClose(g *session.Flags) *cobra.Command {
	return bulk.Offer(g, session.Changing(g, &cobra.Command{
		Use:   "close {ID | --where EXPRESSION}",
		Short: "End an agent when it has answered its messages",
		Long: `close ends an agent as soon as it has answered all messages that it has received. An agent
that is waiting for a message ends at once. So does an agent whose turn is held, but as
failed and without an answer: to get the answer, first send it a message.

close does not wait for sub-agents in the background. They are cancelled, unless the agent
has keep_agents.

close needs a worker, and waits for one as long as --wait allows.`,
		Example: `  starter close talk
  starter close --where 'waiting and age > duration("720h")' --dry-run`,
	}, func(ctx context.Context, cmd *cobra.Command, c *client.Client, id string, _ func()) error {
		err := c.Close(ctx, id)
		if err == nil {
			fmt.Fprintf(cmd.ErrOrStderr(), "Closing agent %s\n", id)
		}
		return err
	}), nil, func(cmd *cobra.Command, _ []string) (bulk.Action, error) {
		return bulk.Action{Verb: "Close", Done: "closed", Statuses: bulk.Open, Do: bulk.Reached(cmd, func(ctx context.Context, t bulk.Target, _ client.Snapshot) (bulk.Outcome, error) {
			return bulk.UnlessEnded(t.Client.Close(ctx, t.ID))
		})}, nil
	})
}
