package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/internal/app/usage"
)

func newInterrupt(g *session.Flags) *cobra.Command {
	var limit time.Duration
	var message string
	cmd := &cobra.Command{
		Use:   "interrupt ID",
		Short: "Stop what an agent does now, and let it wait for a message",
		Long: `interrupt stops the agent's turn: its model call, its tool calls and the sub-agents that
it waits for. The agent keeps everything and waits. Your next message continues the turn:
send it with "starter send" or with --message.

  - The model is told which calls were interrupted. A tool may have done a part of its work.
  - Sub-agents in the background go on.
  - If no turn is running, nothing changes, and the exit code is 4.

To end an agent, use "starter cancel" or "starter close".`,
		Example: `  starter interrupt talk
  starter interrupt talk --message 'use the test database instead'`,
		Args:              usage.OneID,
		ValidArgsFunction: g.CompleteIDs(1, client.Running),
		RunE: func(cmd *cobra.Command, args []string) error {
			return session.Change(cmd, g, args[0], limit, func(ctx context.Context, c *client.Client, _ func()) error {
				switch err := c.Interrupt(ctx, args[0]); {
				case errors.Is(err, client.ErrRefused):
					return exit.Errorf(exit.WrongState, "%w", err)
				case err != nil:
					return err
				}
				fmt.Fprintf(cmd.ErrOrStderr(), "Interrupted agent %s\n", args[0])
				if message == "" {
					return nil
				}
				_, err := c.Send(ctx, args[0], client.Message{Text: message})
				return err
			})
		},
	}
	cmd.Flags().StringVar(&message, "message", "", "after the interrupt, send the agent this `text`, which continues the turn")
	session.AddWait(cmd, &limit, session.DefaultWait)
	return cmd
}
