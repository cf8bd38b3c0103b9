package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/bulk"
	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/shellword"
)

func newInterrupt(g *session.Flags) *cobra.Command {
	var message string
	cmd := &cobra.Command{
		Use:   "interrupt {ID | --where EXPRESSION}",
		Short: "Stop what an agent does now, and let it wait for a message",
		Long: `interrupt stops the agent's turn: its model call, its tool calls and the sub-agents that
it waits for. The agent keeps everything and waits. Your next message continues the turn:
send it with "starter send" or with --message.

  - The model is told which calls were interrupted. A tool may have done a part of its work.
  - Sub-agents in the background go on.
  - If no turn is running, nothing changes, and the exit code is 4.

To end an agent, use "starter cancel" or "starter close".`,
		Example: `  starter interrupt talk
  starter interrupt talk --message 'use the test database instead'
  starter interrupt --where 'running and agent == "support"'`,
	}
	cmd.Flags().StringVar(&message, "message", "", "after the interrupt, send the agent this `text`, which continues the turn")
	return bulk.Offer(g, session.Changing(g, cmd, func(ctx context.Context, cmd *cobra.Command, c *client.Client, id string, _ func()) error {
		if err := c.Interrupt(ctx, id); err != nil {
			return err
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "Interrupted agent %s\n", id)
		if message == "" {
			fmt.Fprintf(cmd.ErrOrStderr(), "It goes on from here with the next message: `%s`\n", shellword.Starter("send", id).Then("TEXT"))
			return nil
		}
		_, err := c.Send(ctx, id, client.Message{Text: message})
		return err
	}), nil, func(cmd *cobra.Command, _ []string) (bulk.Action, error) {
		if message != "" {
			return bulk.Action{}, exit.Errorf(exit.Usage, "--message is only for one agent; interrupt the agents, and then use `starter send --where`")
		}
		return bulk.Action{Verb: "Interrupt", Done: "interrupted", Statuses: bulk.Open, Do: bulk.Reached(cmd, interruptTurn)}, nil
	})
}

// interruptTurn stops the turn of an agent. If no turn is running, there is nothing to stop.
func interruptTurn(ctx context.Context, t bulk.Target, _ client.Snapshot) (bulk.Outcome, error) {
	err := t.Client.Interrupt(ctx, t.ID)
	if errors.Is(err, client.ErrRefused) {
		return bulk.Outcome{Result: object.Already, Note: "no turn is running"}, nil
	}
	return bulk.UnlessEnded(err)
}
