package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/progress"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/cmd/starter/internal/view"
	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/app/usage"
)

func newShow(g *session.Flags) *cobra.Command {
	var asJSON, all, actions bool
	var price float64
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show what an agent said and did",
		Long: `show prints an agent's messages, open calls, queued messages, sub-agents and usage. The
agent may be running or have ended. If the beginning of the conversation was summarised,
show prints only the messages after it; --all reads the others from Temporal's histories.
If no worker answers, show reads the agent from its history. The last line says what comes
next, with the command for it.

show also says how long each model call and tool call took, with what it waited for, such
as a worker or a person.

With --actions, show also estimates, from the agent's histories, how many actions Temporal
Cloud bills for the agent. The estimate leaves out the sub-agents. It also leaves out
queries and the heartbeats with partial text, because histories do not have them. With
--action-price, show also prints the cost.`,
		Example:           "  starter show talk\n  starter show --json talk | jq .usage\n  starter show --actions --action-price 50 talk",
		Args:              usage.OneID,
		ValidArgsFunction: g.CompleteIDs(1),
		RunE: g.OnAgent(func(cmd *cobra.Command, args []string, c *client.Client, queue string) error {
			snap, err := c.Show(cmd.Context(), args[0])
			if errors.Is(err, client.ErrNoWorker) {
				fmt.Fprintf(cmd.ErrOrStderr(), "No worker answers on task queue %q; this was read from Temporal's history. Start a worker with `%s`.\n", queue, progress.StartWorker)
				snap, err = c.ShowRecorded(cmd.Context(), args[0])
			}
			if err != nil {
				return err
			}
			if all && snap.First > 0 {
				earlier, err := c.Earlier(cmd.Context(), args[0], snap.First)
				if err != nil {
					return err
				}
				snap.Messages, snap.First = append(earlier, snap.Messages...), 0
			}
			var billed *object.Actions
			if actions || cmd.Flags().Changed("action-price") {
				counted, err := c.Actions(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				billed = &object.Actions{Actions: counted, Total: counted.Total(), CostUSD: float64(counted.Total()) * price / 1e6}
			}
			if asJSON {
				v := view.NewAgent(snap)
				v.Actions = billed
				return object.Print(cmd.OutOrStdout(), v)
			}
			view.Print(cmd.OutOrStdout(), snap)
			if billed != nil {
				fmt.Fprintln(cmd.OutOrStdout(), view.ActionsText(*billed))
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the agent as one object")
	cmd.Flags().BoolVar(&actions, "actions", false, "also estimate how many actions Temporal Cloud bills for the agent")
	cmd.Flags().Float64Var(&price, "action-price", 0, "price of a million actions in `dollars`, such as 50; also prints the actions")
	cmd.Flags().BoolVar(&all, "all", false, "also show the messages that were summarised")
	return cmd
}
