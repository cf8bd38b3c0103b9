package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/usage"
)

func newReload(g *globals) *cobra.Command {
	var limit time.Duration
	cmd := &cobra.Command{
		Use:   "reload ID",
		Short: "Give an agent that runs its new configuration",
		Long: `reload lets an agent that waits, works or is held read its definition anew: model,
instructions, tools and limits as the workers have them now. An agent that works does so
as soon as no model or tool call runs. A worker reads its configuration when it
starts: restart the workers first.

What the agent said stays. Its sub-agents keep their definitions. A definition that
cannot be read changes nothing. A held turn stays held: send the agent a message.

An agent that has ended gets its new configuration with "starter resume --reload".`,
		Example:           "  starter reload talk",
		Args:              usage.OneID,
		ValidArgsFunction: completeIDs(g, 1, client.Running),
		RunE: func(cmd *cobra.Command, args []string) error {
			id := args[0]
			return change(cmd, g, id, limit, func(ctx context.Context, c *client.Client, taken func()) error {
				err := c.ReloadAndWait(ctx, id, func() {
					taken()
					fmt.Fprintf(cmd.ErrOrStderr(), "Agent %s reads its definition when no model or tool call runs\n", id)
				})
				if errors.As(err, new(*client.ReloadError)) {
					return exitf(exitWrongState, "%w", err)
				}
				if err != nil {
					return goesOn(cmd.Context(), err, id)
				}
				fmt.Fprintf(cmd.ErrOrStderr(), "Agent %s has its new definition\n", id)
				return nil
			})
		},
	}
	addWait(cmd, &limit, defaultWait)
	return cmd
}
