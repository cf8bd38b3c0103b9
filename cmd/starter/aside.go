package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/input"
	"github.com/reagent-dev/reagent/cmd/starter/internal/screen"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/internal/app/object"
)

func newAside(g *session.Flags) *cobra.Command {
	var wait time.Duration
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "aside ID QUESTION...",
		Short: "Ask an agent a question while it works",
		Long: `aside asks an agent's model a question while the agent works. The model answers from what
the agent has said and done so far. The agent keeps working, and neither the question nor
the answer becomes part of its conversation. The tokens and the cost of the answer count
towards its usage and limits.

If QUESTION is "-", aside reads it from standard input.

To change what the agent does, send the agent a message instead (starter send).`,
		Example:           `  starter aside report 'What are you doing?'`,
		Args:              cobra.MinimumNArgs(2),
		ValidArgsFunction: g.CompleteIDs(1, client.Running),
		RunE: func(cmd *cobra.Command, args []string) error {
			question, err := input.Text(cmd, args[1:])
			if err != nil {
				return err
			}
			return session.Change(cmd, g, args[0], wait, func(ctx context.Context, c *client.Client, _ func()) error {
				answer, err := c.Aside(ctx, args[0], question)
				switch {
				case err != nil:
					return err
				case asJSON:
					return object.Print(cmd.OutOrStdout(), object.Aside{ID: args[0], Answer: answer})
				}
				return screen.PrintProse(cmd.OutOrStdout(), answer)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the answer as an object")
	session.AddWait(cmd, &wait, session.DefaultWait)
	return cmd
}
