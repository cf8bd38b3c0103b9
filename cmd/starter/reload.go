package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
)

func newReload(g *session.Flags) *cobra.Command {
	return session.Changing(g, &cobra.Command{
		Use:   "reload ID",
		Short: "Give a running agent its new configuration",
		Long: `reload gives a running agent the current definition that its workers have: model,
instructions, tools and limits. A worker reads its configuration only when it starts, so
restart the workers first.

  - The agent takes the new definition as soon as no model call is running and all its
    tool and sub-agent calls have their results.
  - The agent keeps its messages. Its sub-agents keep their definitions.
  - If the definition cannot be read, nothing changes.
  - A held turn stays held until you send the agent a message.

For an agent that has ended, use "starter resume --reload".`,
		Example: "  starter reload talk",
	}, func(ctx context.Context, cmd *cobra.Command, c *client.Client, id string, taken func()) error {
		err := c.ReloadAndWait(ctx, id, func() {
			taken()
			fmt.Fprintf(cmd.ErrOrStderr(), "Agent %s reads its definition when no model or tool call runs\n", id)
		})
		if errors.As(err, new(*client.ReloadError)) {
			return exit.Errorf(exit.WrongState, "%w", err)
		}
		if err != nil {
			return session.GoesOn(cmd.Context(), err, id)
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "Agent %s has its new definition\n", id)
		return nil
	})
}
