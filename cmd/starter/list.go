package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/bulk"
	"github.com/reagent-dev/reagent/cmd/starter/internal/input"
	"github.com/reagent-dev/reagent/cmd/starter/internal/listing"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/cmd/starter/internal/view"
	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/app/usage"
	"github.com/reagent-dev/reagent/internal/printable"
)

type listOptions struct {
	client.ListOptions

	running, waiting, held, failed bool
	where                          *bulk.Where
	limit                          int
	json                           bool
}

func newList(g *session.Flags) *cobra.Command {
	var o listOptions
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the agents",
		Long: `list shows the agents of the namespace and their sub-agents: first those that have not
ended, the newest first, and then those that have ended, the last to end first. For each
agent it shows the status, what the agent waits for, its tokens and cost, the time since
its start, and its task. list reads Temporal's histories and needs no worker.

WAITS FOR shows who has to act. It is empty if the agent is working or has ended:

  message     you: send the next message
  approval    a person: approve or deny a call
  answer      a person: answer a question
  result      a person or program outside: give the result of a call
  release     a person: the turn is held after a failure; remove the cause, then send a
              message
  sub-agents  nobody: the agent waits for its sub-agents

TOKENS and COST include the sub-agents that have ended. A "?" means unknown, and a "-"
under COST means no cost. An agent whose history cannot be read has the status "unknown",
and list always shows it, unless its search attributes have a status that you do not
want.

If you give several of --running, --waiting, --held and --failed, list shows the agents
that have any of these statuses. If the namespace has the search attributes of agents
("starter setup"), --waiting and --held without --running read only the agents that
have this status there, and those without attributes. They then leave out an agent whose
newest status no worker has written there yet: "starter doctor" finds agents that wait
for a worker.

An orphan is a sub-agent that is running although its parent has ended. If you resume the
parent (starter resume), it waits for the sub-agent again. "starter cancel" ends the
sub-agent.

With --where, list shows the agents for which an expression is true. "starter resume",
reload, interrupt, close, cancel, send and forget take the same expressions.

` + bulk.NamesHelp,
		Example: `  starter list
  starter list --waiting --held       # agents that need a message or a decision
  starter list --failed --agent assistant
  starter list --metadata customer=42
  starter list --orphans              # sub-agents whose parent has ended
  starter list --where 'failed and agent == "support" and age < duration("2h")'
  starter list --limit 0 --json`,
		Args: usage.NoArguments,
		RunE: g.OnAgent(func(cmd *cobra.Command, _ []string, c *client.Client, _ string) error { return list(cmd, c, o) }),
	}
	f := cmd.Flags()
	f.BoolVar(&o.running, "running", false, "only agents that are working")
	f.BoolVar(&o.waiting, "waiting", false, "only agents that wait for a message, or for somebody outside: an approval, an answer or a result")
	f.BoolVar(&o.held, "held", false, "only agents whose turn is held: a failure or an interrupt has stopped it")
	f.BoolVar(&o.failed, "failed", false, "only agents that failed, reached a timeout of Temporal or were terminated")
	f.BoolVar(&o.Orphans, "orphans", false, "only sub-agents that are running although their parent has ended")
	f.StringVarP(&o.Agent, "agent", "a", "", "only agents with this `name` in the configuration")
	input.AddMetadata(f, &o.Metadata, "only agents with this metadata")
	f.Func("after", "only agents after this `position`: list prints it if there are more agents", func(text string) (err error) {
		o.After, err = listing.At(text)
		return err
	})
	bulk.AddWhere(cmd, &o.where, "only agents for which this `expression` is true")
	f.IntVar(&o.limit, "limit", 50, "list at most `N` agents; 0 lists all")
	f.BoolVar(&o.json, "json", false, "print an object on a line for each agent")
	g.CompleteAgentNames(cmd)
	return cmd
}

func list(cmd *cobra.Command, c *client.Client, o listOptions) error {
	for _, f := range []struct {
		given    bool
		statuses []client.Status
	}{
		{o.running, []client.Status{client.Running}},
		{o.waiting, []client.Status{client.Waiting}},
		{o.held, []client.Status{client.Held}},
		{o.failed, []client.Status{client.Failed, client.TimedOut, client.Terminated}},
	} {
		if f.given {
			o.Statuses = append(o.Statuses, f.statuses...)
		}
	}
	query := listing.Query{ListOptions: o.ListOptions, Limit: o.limit, Depth: listing.Described}
	if o.where != nil {
		query.Filter = o.where
	}
	rows, more, err := listing.Find(cmd.Context(), c, cmd.ErrOrStderr(), query)
	if err != nil {
		return err
	}
	if o.json {
		err = object.PrintAll(cmd.OutOrStdout(), summaries(rows))
	} else {
		err = printRows(cmd.OutOrStdout(), rows, time.Now())
	}
	if err == nil && more {
		fmt.Fprintf(cmd.ErrOrStderr(), "There are more: see the next with --after %s, or all with --limit 0.\n", listing.Position(rows[len(rows)-1].Entry))
	}
	return err
}

func printRows(w io.Writer, rows []listing.Row, now time.Time) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tAGENT\tSTATUS\tWAITS FOR\tTOKENS\tCOST\tAGE\tTASK")
	for _, r := range rows {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", printable.Name(r.Entry.ID), printable.Name(r.Entry.Agent), rowStatus(r.Snapshot), r.Snapshot.WaitsFor,
			spentText(r.Snapshot.Spent), view.Age(now.Sub(r.Entry.Started)), printable.Line(r.Snapshot.Task, 60))
	}
	return table.Flush()
}

func rowStatus(s client.Snapshot) string {
	if s.Stopped == "" {
		return string(s.Status)
	}
	return fmt.Sprintf("%s (%s limit)", s.Status, strings.ReplaceAll(printable.Name(s.Stopped), "_", " "))
}

// spentText returns the columns TOKENS and COST, with a tab between them.
func spentText(s *agent.Spending) string {
	if s == nil {
		return "?\t?"
	}
	cost := "-"
	if s.Cost > 0 {
		cost = s.Cost.String()
	}
	return fmt.Sprintf("%d\t%s", s.Tokens(), cost)
}

func summaries(rows []listing.Row) []object.Summary {
	var all []object.Summary
	for _, r := range rows {
		all = append(all, object.NewSummary(r.Entry, r.Snapshot))
	}
	return all
}
