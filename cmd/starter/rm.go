package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/input"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/app/usage"
)

func newRemove(g *session.Flags) *cobra.Command {
	var yes, asJSON bool
	cmd := &cobra.Command{
		Use:   "rm ID...",
		Short: "Delete agents that have ended, with their sub-agents",
		Long: `rm deletes agents that have ended, the sub-agents below them, and all their histories. If
any of these agents and sub-agents is still running, rm deletes nothing. Without --yes, rm
asks first.

Temporal deletes in the background. This may take a minute if an agent has just ended.

A deleted agent cannot be restored. If the parent of a deleted sub-agent is reset or
resumed, the parent may start the sub-agent again.`,
		Example:           "  starter rm talk\n  starter rm --yes daily-report-1 daily-report-2",
		Args:              usage.SomeIDs,
		ValidArgsFunction: g.CompleteIDs(0, client.Completed, client.Failed, client.Cancelled, client.Terminated, client.TimedOut),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, queue, done, err := g.AgentsOf(cmd.Context(), "")
			if err != nil {
				return err
			}
			defer done()
			below, err := closedTrees(cmd.Context(), c, args)
			if err != nil {
				return session.WithExitCode(err, queue)
			}
			if !yes {
				ok, err := input.Confirm(cmd.Context(), cmd.InOrStdin(), cmd.ErrOrStderr(), removeQuestion(args, below), "nothing was deleted")
				if err != nil || !ok {
					return err
				}
			}
			for _, id := range args {
				// An ID may be that of a sub-agent that an earlier Remove has deleted together with its parent.
				if err := c.Remove(cmd.Context(), g.Namespace, id); err != nil && !errors.Is(err, client.ErrNotFound) {
					return session.WithExitCode(err, queue)
				}
				fmt.Fprintf(cmd.ErrOrStderr(), "Deleting agent %s\n", id)
				if asJSON {
					if err := object.Print(cmd.OutOrStdout(), object.Outcome{ID: id, Outcome: object.Done}); err != nil {
						return err
					}
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print an object on a line for each agent")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask first")
	return cmd
}

// closedTrees returns the number of sub-agents below the agents with the given IDs. A sub-agent whose ID is also given does not count.
// If one of all these agents is still running, the error wraps [client.ErrRunning], because only agents that have ended can be deleted.
func closedTrees(ctx context.Context, c *client.Client, ids []string) (below int, err error) {
	seen := map[string]bool{}
	for _, id := range ids {
		tree, err := c.Tree(ctx, id)
		if err != nil {
			return 0, err
		}
		for _, e := range tree {
			if !e.Status.Ended() {
				return 0, client.StillRunning(e.ID)
			}
			seen[e.ID] = true
		}
	}
	for _, id := range ids {
		delete(seen, id)
	}
	return len(seen), nil
}

func removeQuestion(ids []string, below int) string {
	what := "agent " + ids[0]
	if len(ids) > 1 {
		what = fmt.Sprintf("%d agents", len(ids))
	}
	switch below {
	case 0:
	case 1:
		what += " and 1 sub-agent"
	default:
		what += fmt.Sprintf(" and %d sub-agents", below)
	}
	return "Delete " + what + "?"
}
