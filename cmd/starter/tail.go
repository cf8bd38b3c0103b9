package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
	"github.com/reagent-dev/reagent/cmd/starter/internal/progress"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/app/usage"
	"github.com/reagent-dev/reagent/internal/shellword"
)

func newTail(g *session.Flags) *cobra.Command {
	var last int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "tail ID",
		Short: "Show an agent's messages as they come",
		Long: `tail shows all messages of an agent, and then each new one, until the agent has ended. If
Temporal or a worker does not answer, tail says so and keeps trying.

With --json, each message is an object of the type "message". Its "index" is its place in
the transcript, counted from 0. When the agent waits, is held or has ended, an object of
the type "status" follows, and after a reset one of the type "reset".`,
		Example: `  starter tail talk
  starter tail --last 5 talk
  starter tail --json talk | jq -r 'select(.role == "assistant").content'`,
		Args:              usage.OneID,
		ValidArgsFunction: g.CompleteIDs(1),
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			if last < 0 {
				return exit.Errorf(exit.Usage, "--last must be 0 or more, not %d", last)
			}
			if !cmd.Flags().Changed("last") {
				last = -1
			}
			return nil
		},
		RunE: g.OnAgent(func(cmd *cobra.Command, args []string, c *client.Client, queue string) error {
			return tail(cmd, c, queue, args[0], last, asJSON)
		}),
	}
	cmd.Flags().IntVar(&last, "last", 0, "begin with the last `N` messages (default: all)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print an object on a line for each message, and one when the agent waits, is held or has ended")
	return cmd
}

func tail(cmd *cobra.Command, c *client.Client, queue, id string, last int, asJSON bool) error {
	ctx := cmd.Context()
	follow := progress.NewFollower(cmd.OutOrStdout(), cmd.ErrOrStderr(), queue, id, 0, !asJSON)
	defer follow.End()
	if asJSON {
		follow.Messages = nil
	}
	from, err := firstOf(ctx, c, id, last, follow.Wait)
	if err != nil {
		return err
	}
	stands := client.Running
	for p, err := range c.Watch(ctx, id, from) {
		if err != nil {
			return err
		}
		follow.See(p)
		follow.AskText(ctx, c, p)
		switch {
		case p.Rewound:
			fmt.Fprintf(follow.Stderr, "The agent was reset: %d of its messages are left.\n", p.Index)
			if asJSON {
				err = object.Print(follow.Stdout, object.Reset{ID: id, MessageCount: p.Index})
			}
		case p.Message != nil && asJSON:
			err = object.Print(follow.Stdout, object.Came(id, p.Index, *p.Message))
		}
		if p.Status != "" && p.Status != stands {
			switch stands = p.Status; {
			case stands == client.Running:
			case asJSON:
				err = object.Print(follow.Stdout, object.Status{ID: id, Status: stands, WaitsFor: p.WaitsFor})
			default:
				fmt.Fprintf(follow.Stderr, "Agent %s: %s%s\n", id, stands, hint(id, stands))
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func hint(id string, status client.Status) string {
	why := fmt.Sprintf("; `%s` shows why, and ", shellword.Starter("show", id))
	switch status {
	case client.Held:
		return fmt.Sprintf("%s`%s` lets it go on", why, shellword.Starter("send", id).Then("TEXT"))
	case client.Failed, client.TimedOut:
		return fmt.Sprintf("%s`%s` lets it go on", why, shellword.Starter("resume", id))
	}
	return ""
}

// firstOf returns the index of the first message that `starter tail` prints; a negative `last` means all messages. To count the messages,
// it watches the agent. If Temporal or a worker does not answer meanwhile, `wait` tells the person.
func firstOf(ctx context.Context, c *client.Client, id string, last int, wait *progress.Notice) (int, error) {
	if last < 0 {
		return 0, nil
	}
	count := 0
	for p, err := range c.Watch(ctx, id, 0) {
		if err != nil {
			return 0, err
		}
		wait.Update(p)
		if p.Message != nil {
			count = p.Index + 1 // the messages before the first one may be summarised
		}
		if p.Status != "" {
			break // Watch has yielded all messages that exist now
		}
	}
	return max(0, count-last), context.Cause(ctx)
}
