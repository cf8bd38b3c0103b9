package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/cmd/starter/internal/turn"
	"github.com/reagent-dev/reagent/internal/app/usage"
)

func newFork(g *session.Flags) *cobra.Command {
	var o client.ForkOptions
	var show turn.Options
	var chat bool
	cmd := &cobra.Command{
		Use:   "fork ID",
		Short: "Start a new agent with the first messages of another",
		Long: `fork starts a new agent with the first messages of another agent, which may be running or
have ended. No call in these messages is run again.

With --at N, fork keeps the first N messages. Messages are counted from 1, and tool results
count, too. "starter tail --json ID" prints each message with its "index", counted from 0:
N is the index of the last message to keep, plus 1. A fork is possible only where every
call has its result.

What the new agent does first depends on the last of these messages:

  - After an answer, the agent takes --message, or waits for a message (starter send).
  - After a user's message or a tool result, the agent calls the model at once. With
    --message, the model gets this message, too.

To replace a user's message, keep one message fewer and give --message.`,
		Example:           "  starter fork talk --at 6 --message \"Try it the other way.\"\n  starter fork report --id report-2 --detach",
		Args:              usage.OneID,
		ValidArgsFunction: g.CompleteIDs(1),
		RunE: g.OnAgent(func(cmd *cobra.Command, args []string, c *client.Client, queue string) error {
			if chat {
				o.Mode = agent.Chat
			}
			started, err := c.Fork(cmd.Context(), args[0], o)
			if _, ok := errors.AsType[*agent.ForkPointError](err); ok {
				return exit.Errorf(exit.Usage, "%w", err)
			}
			if err != nil {
				return err
			}
			if started.Found {
				return exit.Errorf(exit.Taken, "the ID %s is taken by an agent that is %s: choose another --id", started.ID, started.Status)
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "Agent %s\n", started.ID)
			return show.Show(cmd, c, queue, started)
		}),
	}
	f := cmd.Flags()
	f.IntVar(&o.At, "at", 0, "keep the first `N` messages (default: all)")
	f.StringVar(&o.ID, "id", "", "`ID` of the new agent (default: the name of the agent and 8 random characters)")
	f.StringVar(&o.Message, "message", "", "send this `text` as the next message of the new agent")
	f.BoolVar(&chat, "chat", false, "let the new agent wait for the next message when it has answered (default: true if the other agent is a chat, or if you give no --message)")
	show.AddFlags(cmd)
	return cmd
}
