package bulk

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
	"github.com/reagent-dev/reagent/cmd/starter/internal/input"
	"github.com/reagent-dev/reagent/cmd/starter/internal/listing"
	"github.com/reagent-dev/reagent/cmd/starter/internal/progress"
	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/printable"
)

// Forget are the settings of `starter forget`.
type Forget struct {
	// Where and Metadata select the agents. At least one of them must be set. If both are, an agent has to match both.
	Where    *Where
	Metadata agent.Metadata

	DryRun, Yes, JSON bool
	Rate              float64
	// Grace is how long an agent may take to end after it was cancelled. Then it is terminated.
	Grace time.Duration
}

const (
	// deleteWait is how long the command waits for Temporal to delete the agents. A server with the usual settings takes about a minute.
	deleteWait = 5 * time.Minute
	// deletePause is the pause between two questions whether they are deleted.
	deletePause = time.Second
)

// Run ends and deletes the agents. It returns when Temporal has none of them any more. `stdout` and `stderr` are those of the command.
func (f Forget) Run(cmd *cobra.Command, c *client.Client, namespace string) error {
	if f.Where == nil && len(f.Metadata) == 0 {
		return exit.Errorf(exit.Usage, "name the agents with --metadata NAME=VALUE or with --where EXPRESSION")
	}
	ctx, stderr := cmd.Context(), cmd.ErrOrStderr()
	trees, unread, err := f.find(ctx, c, stderr)
	if err != nil {
		return err
	}
	r := &run{stdout: cmd.OutOrStdout(), stderr: stderr, json: f.JSON, done: "forgotten"}
	for _, t := range trees {
		r.all += len(t.lives)
	}
	above := map[string]bool{}
	if f.DryRun {
		if err := r.dryTrees(trees); err != nil {
			return err
		}
		return left(stderr, parentsOf(trees, above), unread)
	}
	if r.all > 0 {
		if ok, err := f.confirmed(cmd, r.all); err != nil || !ok {
			return err
		}
	}
	done := map[string]bool{} // the IDs of the runs
	for {
		for _, t := range trees {
			for _, l := range t.lives {
				for _, run := range l.Runs {
					done[run] = true
				}
			}
		}
		parentsOf(trees, above)
		var todo []work
		for _, t := range trees {
			todo = append(todo, f.workOn(c, namespace, t))
		}
		if err := r.do(ctx, f.Rate, todo); err != nil {
			return err
		}
		if err := await(ctx, c, stderr, trees); err != nil {
			return err
		}
		// An agent may have started a sub-agent meanwhile, and Temporal's list may have been late.
		if trees, _, err = f.find(ctx, c, stderr); err != nil {
			return err
		}
		trees = slices.DeleteFunc(trees, func(t tree) bool {
			return !slices.ContainsFunc(t.lives, func(l client.Life) bool {
				return slices.ContainsFunc(l.Runs, func(run string) bool { return !done[run] })
			})
		})
		if len(trees) == 0 {
			return left(stderr, above, unread)
		}
		r.all = 0
		for _, t := range trees {
			r.all += len(t.lives)
		}
		fmt.Fprintf(stderr, "%s more have begun meanwhile\n", agentsText(r.all))
	}
}

// find returns the agents that match, with all agents below them, and the number of agents of which it is not known whether they match.
func (f Forget) find(ctx context.Context, c *client.Client, stderr io.Writer) (trees []tree, unread int, err error) {
	told := time.Now()
	lives, err := c.Lives(ctx, func(runs int) {
		if time.Since(told) > progress.Silence {
			told = time.Now().Add(reportEvery - progress.Silence)
			fmt.Fprintf(stderr, "Reading Temporal's list: %d runs so far …\n", runs)
		}
	})
	if err != nil {
		return nil, 0, err
	}
	var may []client.Entry
	for _, l := range lives {
		switch {
		case l.Unreadable:
			unread++
			fmt.Fprintf(stderr, "Agent %s: its memo cannot be decoded; does the namespace have a codec?\n", printable.Name(l.ID))
		case l.Metadata.Has(f.Metadata):
			may = append(may, l.Entry)
		}
	}
	query := listing.Query{}
	if f.Where != nil {
		query.Filter = f.Where
	}
	rows, err := listing.Select(ctx, c, stderr, query, may)
	if err != nil {
		return nil, 0, err
	}
	matched := map[string]bool{} // the newest runs
	for _, r := range rows {
		if r.Snapshot.Status == client.Unknown {
			unread++
			continue
		}
		matched[r.Entry.RunID] = true
	}
	return newFamily(lives).below(func(i int) bool { return matched[lives[i].RunID] }), unread, nil
}

func (f Forget) confirmed(cmd *cobra.Command, n int) (bool, error) {
	if f.Yes || !input.Interactive(cmd) {
		return confirmed(cmd, f.Yes, "", n)
	}
	question := fmt.Sprintf("End and delete %s, with all their histories? This cannot be undone.", agentsText(n))
	return input.ConfirmCount(cmd.Context(), cmd.InOrStdin(), cmd.ErrOrStderr(), question, n, "nothing was deleted")
}

// workOn returns the unit of work for a tree. A tree fails as a whole, because its root is deleted last.
func (f Forget) workOn(c *client.Client, namespace string, t tree) work {
	return work{t.lives[0].ID, func(ctx context.Context) ([]object.Outcome, error) {
		err := c.Forget(ctx, namespace, t.lives, f.Grace)
		if err != nil && (unreachable(err) || ctx.Err() != nil) {
			return nil, err
		}
		lines := t.lines(object.Done)
		if err != nil {
			for i := range lines {
				lines[i].Outcome, lines[i].Error = object.Failed, err.Error()
			}
		}
		return lines, nil
	}}
}

// lines returns a line for each agent of the tree.
func (t tree) lines(result object.Result) []object.Outcome {
	var all []object.Outcome
	for i, l := range t.lives {
		note := cmp.Or(l.Task, string(l.Status))
		if i > 0 {
			note = "sub-agent of " + l.Parent
		}
		all = append(all, object.Outcome{ID: l.ID, Agent: l.Agent, Outcome: result, Note: note})
	}
	return all
}

func (r *run) dryTrees(trees []tree) error {
	for _, t := range trees {
		for _, l := range t.lines(object.Would) {
			if err := write(r.stdout, l, r.json); err != nil {
				return err
			}
		}
	}
	_, err := fmt.Fprintf(r.stderr, "%s would be %s; nothing was done\n", agentsText(r.all), r.done)
	return err
}

// await waits until Temporal has deleted the agents.
func await(ctx context.Context, c *client.Client, stderr io.Writer, trees []tree) error {
	began, told := time.Now(), false
	waiting := 0
	for _, t := range trees {
		waiting += len(t.lives)
	}
	for _, t := range trees {
		for _, l := range t.lives {
			for {
				gone, err := c.Gone(ctx, l)
				if err != nil {
					return err
				}
				if gone {
					break
				}
				if time.Since(began) > deleteWait {
					return exit.Errorf(exit.Failure, "Temporal is still deleting %s; repeat the command to see whether they are gone", agentsText(waiting))
				}
				if !told && time.Since(began) > progress.Silence {
					told = true
					fmt.Fprintf(stderr, "Waiting until Temporal has deleted %s, which may take a minute …\n", agentsText(waiting))
				}
				select {
				case <-time.After(deletePause):
				case <-ctx.Done():
					return exit.Errorf(exit.Interrupted, "interrupted; Temporal deletes the agents; repeat the command to see whether they are gone")
				}
			}
			waiting--
		}
	}
	return nil
}

// parentsOf adds the IDs of the parents of the trees to `above`, and returns it.
func parentsOf(trees []tree, above map[string]bool) map[string]bool {
	for _, t := range trees {
		if t.above != "" {
			above[t.above] = true
		}
	}
	return above
}

// Left are the places that `starter forget` cannot reach, for people.
var Left = []string{
	"the transcripts of other agents, and agents whose messages alone have the metadata",
	"forks and other agents that do not match, because they have other metadata",
	"histories in an archive, if the namespace archives them, and backups of Temporal's database",
	"Schedules and programs that start such agents again",
	"workers: results in --results-dir (up to 7 days) and in memory, files that tools have written (files_root), logs and traces",
	"what hooks, tools and models have received, such as the logs and the prompt caches of providers",
}

// left prints what the command has not deleted. `above` are the parents of deleted sub-agents. The error says that agents could not be read.
func left(stderr io.Writer, above map[string]bool, unread int) error {
	fmt.Fprintln(stderr, "This command does not delete the following; look there, too:")
	for _, id := range slices.Sorted(maps.Keys(above)) {
		fmt.Fprintf(stderr, "  - the history of %s, which has the answer of a forgotten sub-agent\n", printable.Name(id))
	}
	for _, text := range Left {
		fmt.Fprintln(stderr, "  - "+text)
	}
	return unreadError(unread)
}
