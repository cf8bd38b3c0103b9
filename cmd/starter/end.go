package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/client"
)

func newClose(g *globals) *cobra.Command {
	return newEnd(g, "close", "Let an agent finish when it has answered",
		"close lets an agent answer what it was sent and then end. An agent that waits ends at once.",
		"Closing", func(c *client.Client, ctx context.Context, id string) ([]string, error) {
			return []string{id}, c.Close(ctx, id)
		})
}

func newCancel(g *globals) *cobra.Command {
	return newEnd(g, "cancel", "End an agent and its sub-agents now",
		`cancel ends an agent and the sub-agents below it now. Calls that are open get a
result that says so; what a tool has done is not undone. Sub-agents that still run
are cancelled also where the agent itself has ended.`,
		"Cancelling", (*client.Client).Cancel)
}

func newEnd(g *globals, name, short, long, doing string, end func(*client.Client, context.Context, string) ([]string, error)) *cobra.Command {
	return &cobra.Command{
		Use: name + " ID", Short: short, Long: long,
		Example: "  starter " + name + " talk",
		Args:    cobra.ExactArgs(1),
		// Those that run, however they stand.
		ValidArgsFunction: completeIDs(g, 1, client.Running),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, queue, done, err := g.agents(cmd.Context())
			if err != nil {
				return err
			}
			defer done()
			wait := newPatience(cmd.ErrOrStderr(), queue)
			defer wait.stop()
			ids, err := end(c, cmd.Context(), args[0])
			if err != nil {
				return coded(err, queue)
			}
			for _, id := range ids {
				fmt.Fprintf(cmd.ErrOrStderr(), "%s agent %s\n", doing, id)
			}
			return nil
		},
	}
}
