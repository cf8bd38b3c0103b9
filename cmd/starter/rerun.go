package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
	"github.com/reagent-dev/reagent/cmd/starter/internal/input"
	"github.com/reagent-dev/reagent/cmd/starter/internal/screen"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/cmd/starter/internal/turn"
	"github.com/reagent-dev/reagent/internal/app/usage"
	"github.com/reagent-dev/reagent/internal/plural"
	"github.com/reagent-dev/reagent/internal/shellword"
)

func newRerun(g *session.Flags) *cobra.Command {
	var o client.RerunOptions
	var show turn.Options
	cmd := &cobra.Command{
		Use:   "rerun ID",
		Short: "Give a new agent the same input, with another prompt or model",
		Long: `rerun starts a new agent with the input of another agent, which may be running or have
ended, and shows its messages as "starter run" does. The new agent has the current
configuration of the workers and what the flags change. "starter diff" compares the two.

The input of a task is its first message with its images. The input of a chat is all its
messages from users: the new agent takes each when it has answered the one before. The
output schema and the metadata are the same, too. rerun reads all this from Temporal's
histories.

With --at N, the new agent keeps the first N messages as they are, as "starter fork" does,
and takes the later messages of users again.

What people decided is not part of the input: approvals, answers to questions and results
from outside. If calls of the new agent need them, they wait, and rerun says so.

The flags change the agent's configuration for the new agent only, within what the
configuration allows: see "starter run". A worker in development mode (worker --dev) also
takes --instructions-file, and every model that it has.`,
		Example: `  starter rerun report
  starter rerun report --model large --id report-2
  starter rerun talk --at 4 --add-instructions shorter.txt
  starter rerun report --instructions-file prompt.md --id try-1`,
		Args:              usage.OneID,
		ValidArgsFunction: g.CompleteIDs(1),
		RunE: g.OnAgent(func(cmd *cobra.Command, args []string, c *client.Client, queue string) error {
			return rerun(cmd, g, c, queue, args[0], o, show)
		}),
	}
	f := cmd.Flags()
	f.IntVar(&o.At, "at", 0, "keep the first `N` messages as they are (default: none)")
	f.StringVar(&o.ID, "id", "", "`ID` of the new agent (default: the name of the agent and 8 random characters)")
	input.AddOverrides(f, &o.Overrides)
	input.AddWholeInstructions(f, &o.Overrides)
	show.AddFlags(cmd)
	return cmd
}

func rerun(cmd *cobra.Command, g *session.Flags, c *client.Client, queue, id string, o client.RerunOptions, show turn.Options) error {
	ctx, stderr := cmd.Context(), cmd.ErrOrStderr()
	switch {
	case cmd.Flags().Changed("at") && o.At < 1:
		return exit.Errorf(exit.Usage, "--at must be 1 or more, not %d; leave it out to keep no messages", o.At)
	case o.ID != "":
		if err := client.CheckID(o.ID); err != nil {
			return exit.Errorf(exit.Usage, "%w", err)
		}
	}
	o.PartialText = !show.Detach && !show.JSON && !show.Quiet && screen.Redraws(cmd.OutOrStdout())
	again, err := c.Rerun(ctx, id, o)
	switch {
	case errors.As(err, new(*agent.ForkPointError)):
		return exit.Errorf(exit.Usage, "%w", err)
	case errors.Is(err, client.ErrNothingToRerun):
		return exit.Errorf(exit.WrongState, "%w", err)
	case err != nil:
		return err
	case again.Found:
		return exit.Errorf(exit.Taken, "the ID %s is taken by an agent that is %s: choose another --id", again.ID, again.Status)
	}
	if !show.Quiet {
		fmt.Fprintf(stderr, "Agent %s\n", again.ID)
		tellInput(stderr, id, again)
	}
	if !show.Quiet && !show.JSON {
		show.Link = g.Link(ctx, again.ID)
	}
	show.Asked = o.PartialText
	err = show.Show(cmd, c, queue, again.Started)
	if err == nil && !show.Quiet && !show.Detach && !show.JSON {
		fmt.Fprintf(stderr, "Compare the two with `%s`\n", shellword.Starter("diff", id, again.ID))
	}
	return err
}

// tellInput says what the new agent does not get.
func tellInput(stderr io.Writer, id string, again client.Rerun) {
	if again.Decided > 0 {
		fmt.Fprintf(stderr, "People had decided on %d of the calls of %s. The decisions are not taken over: calls that need one wait, see `starter inbox`.\n", again.Decided, id)
	}
	if again.Left > 0 {
		fmt.Fprintf(stderr, "%s got %s after its task. They are not sent again.\n", id, plural.Of(again.Left, "more message"))
	}
}
