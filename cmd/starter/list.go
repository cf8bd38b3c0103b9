package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/reagent-dev/reagent/client"
)

const (
	// asked is how many running agents are asked at the same time where they stand.
	asked = 16
	// askedFor bounds how long, since one without a worker does not answer.
	askedFor = 2 * time.Second
)

type listOptions struct {
	running, waiting, held, failed bool
	orphans                        bool
	agent                          string
	before                         string
	limit                          int
	json                           bool
}

func newList(g *globals) *cobra.Command {
	var o listOptions
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the agents, newest first",
		Long: `list shows the agents of the namespace, sub-agents among them, those that started
last first. Agents that run are asked whether they wait or are held; without a
worker they count as running.

Flags that name a state may stand together: an agent in any of them is shown.

An orphan is a sub-agent that runs although the agent that asked for it has ended.
"starter resume" of the parent waits for it again, "starter cancel" ends it.`,
		Example: `  starter list
  starter list --waiting --held       # those that wait for someone
  starter list --failed --agent assistant
  starter list --orphans              # sub-agents that nobody waits for
  starter list --limit 0 --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return list(cmd, g, o) },
	}
	f := cmd.Flags()
	f.BoolVar(&o.running, "running", false, "only agents that work on something")
	f.BoolVar(&o.waiting, "waiting", false, "only agents that wait for a message or an approval")
	f.BoolVar(&o.held, "held", false, "only agents that something holds up")
	f.BoolVar(&o.failed, "failed", false, "only agents that failed, ran out of time or were terminated")
	f.BoolVar(&o.orphans, "orphans", false, "only sub-agents that run although their parent has ended")
	f.StringVarP(&o.agent, "agent", "a", "", "only agents of this `name`")
	f.StringVar(&o.before, "before", "", "only agents that started before this `time`, such as 2026-01-31T12:00:00Z")
	f.IntVar(&o.limit, "limit", 50, "list at most this `many`; 0 lists all")
	f.BoolVar(&o.json, "json", false, "print JSON")
	completeAgentNames(g, cmd)
	return cmd
}

// statuses are those that the flags ask for; none means all.
func (o listOptions) statuses() []client.Status {
	var all []client.Status
	if o.running {
		all = append(all, client.Running)
	}
	if o.waiting {
		all = append(all, client.Waiting)
	}
	if o.held {
		all = append(all, client.Held)
	}
	if o.failed {
		all = append(all, client.Failed, client.TimedOut, client.Terminated)
	}
	return all
}

func list(cmd *cobra.Command, g *globals, o listOptions) error {
	query := client.ListOptions{Statuses: o.statuses(), Agent: o.agent, Orphans: o.orphans}
	if o.before != "" {
		var err error
		if query.Before, err = time.Parse(time.RFC3339Nano, o.before); err != nil {
			return exitf(exitUsage, "--before %q is no time such as 2026-01-31T12:00:00Z", o.before)
		}
	}
	c, queue, done, err := g.agents(cmd.Context())
	if err != nil {
		return err
	}
	defer done()
	entries, more, err := find(cmd.Context(), c, query, o.limit)
	if err != nil {
		return coded(err, queue)
	}
	if o.json {
		err = printEntriesJSON(cmd.OutOrStdout(), entries)
	} else {
		err = printEntries(cmd.OutOrStdout(), entries, time.Now())
	}
	if err == nil && more {
		fmt.Fprintf(cmd.ErrOrStderr(), "There are more: see the next with --before %s, or all with --limit 0.\n",
			entries[len(entries)-1].Started.UTC().Format(time.RFC3339Nano))
	}
	return err
}

// find returns the newest agents that the query names, at most limit of them, and whether there are
// more. What the server cannot tell the agents are asked, some at a time.
func find(ctx context.Context, c *client.Client, query client.ListOptions, limit int) (found []client.Entry, more bool, err error) {
	found = []client.Entry{}
	var batch []client.Entry
	flush := func() {
		look(ctx, c, batch)
		for _, e := range batch {
			if len(query.Statuses) == 0 || slices.Contains(query.Statuses, e.Status) {
				found = append(found, e)
			}
		}
		batch = batch[:0]
	}
	for e, err := range c.List(ctx, query) {
		if err != nil {
			return nil, false, err
		}
		if batch = append(batch, e); len(batch) == asked {
			flush()
		}
		if limit > 0 && len(found) > limit {
			break
		}
	}
	flush()
	if limit > 0 && len(found) > limit {
		return found[:limit], true, nil
	}
	return found, false, nil
}

// look asks the agents that run where they stand. Those that do not answer stay "running".
func look(ctx context.Context, c *client.Client, entries []client.Entry) {
	ctx, cancel := context.WithTimeout(ctx, askedFor)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(asked)
	for i := range entries {
		if entries[i].Status != client.Running {
			continue
		}
		group.Go(func() error {
			if look, err := c.Look(ctx, entries[i].ID); err == nil {
				entries[i].Status = look.Status
			}
			return nil
		})
	}
	_ = group.Wait() // there are no errors
}

func printEntries(w io.Writer, entries []client.Entry, now time.Time) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tAGENT\tSTATUS\tSTARTED\tENDED")
	for _, e := range entries {
		ended := ""
		if !e.Ended.IsZero() {
			ended = ago(now.Sub(e.Ended))
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", e.ID, e.Agent, e.Status, ago(now.Sub(e.Started)), ended)
	}
	return table.Flush()
}

// ago says how long something is past, in the largest unit that says enough.
func ago(d time.Duration) string {
	switch {
	case d < time.Second: // or the clocks of two machines differ
		return "now"
	case d < time.Minute:
		return fmt.Sprintf("%d s ago", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d m ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return fmt.Sprintf("%d d ago", int(d.Hours()/24))
}

type entryView struct {
	ID      string        `json:"id"`
	Agent   string        `json:"agent"`
	Status  client.Status `json:"status"`
	Parent  string        `json:"parent,omitempty"`
	Started time.Time     `json:"started"`
	Ended   *time.Time    `json:"ended,omitempty"`
}

func printEntriesJSON(w io.Writer, entries []client.Entry) error {
	views := make([]entryView, len(entries))
	for i, e := range entries {
		views[i] = entryView{ID: e.ID, Agent: e.Agent, Status: e.Status, Parent: e.Parent, Started: e.Started.UTC()}
		if !e.Ended.IsZero() {
			ended := e.Ended.UTC()
			views[i].Ended = &ended
		}
	}
	return printJSON(w, views)
}
