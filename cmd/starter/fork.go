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
		Long: `fork starts a new agent with the first messages of another agent, which may be running
or have ended. No call in these messages is run again. A fork is possible only at a
place where every call has its result.

If the last of these messages is an answer, the new agent takes --message, or waits for
a message (starter send). If the last message is a user's message or a tool's result,
the new agent calls the model at once. To replace a user's message, keep one message
fewer and give --message.`,
		Example:           "  starter fork talk --at 6 --message \"Try it the other way.\"\n  starter fork report --id report-2 --detach",
		Args:              usage.OneID,
		ValidArgsFunction: g.CompleteIDs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, queue, done, err := g.AgentsOf(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			defer done()
			if chat {
				o.Mode = agent.Chat
			}
			started, err := c.Fork(cmd.Context(), args[0], o)
			if _, ok := errors.AsType[*agent.ForkPointError](err); ok {
				return exit.Errorf(exit.Usage, "%w", err)
			}
			if err != nil {
				return session.WithExitCode(err, queue)
			}
			if started.Found {
				return exit.Errorf(exit.Taken, "the ID %s is taken by an agent that is %s: choose another --id", started.ID, started.Status)
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "Agent %s\n", started.ID)
			return show.Show(cmd, c, queue, started)
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.At, "at", 0, "keep the first `N` messages (default: all)")
	f.StringVar(&o.ID, "id", "", "`ID` of the new agent (default: a new one)")
	f.StringVar(&o.Message, "message", "", "the new agent's next message, as `text`")
	f.BoolVar(&chat, "chat", false, "let the new agent wait for the next message when it has answered")
	show.AddFlags(cmd)
	return cmd
}
