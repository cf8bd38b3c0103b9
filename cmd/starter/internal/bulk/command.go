package bulk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
	"github.com/reagent-dev/reagent/cmd/starter/internal/input"
	"github.com/reagent-dev/reagent/cmd/starter/internal/listing"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/internal/app/object"
)

// flags are those of a command that works on all agents that match.
type flags struct {
	where             *Where
	dryRun, yes, json bool
	rate              float64
}

// Offer lets a command on one agent also work on all agents that match the flag --where. It adds this flag and those for many agents, and
// --json if the command does not have it. `action` makes the action from the flags and from the arguments. `args` checks the arguments that
// the command has with --where; nil means none.
func Offer(
	g *session.Flags, cmd *cobra.Command, args cobra.PositionalArgs, action func(cmd *cobra.Command, args []string) (Action, error),
) *cobra.Command {
	f := &flags{}
	asJSON := cmd.Flags().Lookup("json")
	own := asJSON == nil
	AddWhere(cmd, &f.where, "do it to all agents for which this `expression` is true, in place of ID: see \"starter list --help\"")
	AddRun(cmd, &f.dryRun, &f.yes, &f.rate)
	const lines = "; with --where, one on a line for each agent"
	if own {
		cmd.Flags().BoolVar(&f.json, "json", false, "print an object"+lines)
	} else {
		asJSON.Usage += lines
	}
	one, oneArgs := cmd.RunE, cmd.Args
	cmd.Args = func(cmd *cobra.Command, given []string) error {
		switch {
		case f.where == nil:
			return oneArgs(cmd, given)
		case args != nil:
			return args(cmd, given)
		case len(given) > 0:
			return fmt.Errorf("%s takes an ID or --where, and not both; leave out %q or --where", cmd.Name(), given[0])
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, given []string) error {
		if f.where != nil {
			if !own {
				f.json, _ = cmd.Flags().GetBool("json") // the command has this flag
			}
			return f.all(cmd, g, given, action)
		}
		for _, name := range []string{"dry-run", "yes", "rate"} {
			if cmd.Flags().Changed(name) {
				return exit.Errorf(exit.Usage, "--%s is only for --where; leave it out", name)
			}
		}
		err := one(cmd, given)
		if err == nil && f.json {
			return object.Print(cmd.OutOrStdout(), object.Outcome{ID: given[0], Outcome: object.Done})
		}
		return err
	}
	return cmd
}

// AddWhere adds the flag --where to a command. Without the flag, `*where` stays nil.
func AddWhere(cmd *cobra.Command, where **Where, help string) {
	cmd.Flags().Func("where", help, func(text string) (err error) {
		*where, err = Compile(text)
		return err
	})
}

// AddRun adds the flags --dry-run, --yes and --rate, which say how a command works on many agents.
func AddRun(cmd *cobra.Command, dryRun, yes *bool, rate *float64) {
	f := cmd.Flags()
	f.BoolVar(dryRun, "dry-run", false, "only list the agents, and do nothing")
	f.BoolVarP(yes, "yes", "y", false, "do not ask first; needed if no terminal can be asked")
	*rate = DefaultRate
	f.Var((*rateValue)(rate), "rate", "work on at most `N` agents in a second; 0 means no limit")
}

type rateValue float64

func (v *rateValue) String() string { return strconv.FormatFloat(float64(*v), 'g', -1, 64) }

func (v *rateValue) Type() string { return "number" }

func (v *rateValue) Set(text string) error {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n >= 0 && n <= maxRate) {
		return fmt.Errorf("write a number from 0 to %d", maxRate)
	}
	*v = rateValue(n)
	return nil
}

// all works on all agents that match.
func (f *flags) all(cmd *cobra.Command, g *session.Flags, args []string, action func(cmd *cobra.Command, args []string) (Action, error)) error {
	a, err := action(cmd, args)
	if err != nil {
		return err
	}
	c, queue, done, err := g.AgentsOf(cmd.Context(), "")
	if err != nil {
		return err
	}
	defer done()
	rows, _, err := listing.Find(cmd.Context(), c, cmd.ErrOrStderr(), listing.Query{ListOptions: client.ListOptions{Statuses: a.Statuses}, Filter: f.where})
	if err != nil {
		return session.WithExitCode(err, queue)
	}
	r := &run{stdout: cmd.OutOrStdout(), stderr: cmd.ErrOrStderr(), json: f.json, done: a.Done, again: a.Again}
	var selected []work
	for _, row := range rows {
		if row.Snapshot.Status == client.Unknown {
			r.unread++
			continue
		}
		selected = append(selected, workOn(a, Target{row.Entry, c.WithTaskQueue(cmp.Or(queue, row.Entry.TaskQueue))}))
	}
	if r.all = len(selected); f.dryRun {
		return r.dry(rows)
	}
	if r.all > 0 {
		if ok, err := confirmed(cmd, f.yes, fmt.Sprintf("%s %s?", a.Verb, agentsText(r.all)), r.all); err != nil || !ok {
			return err
		}
	}
	return r.do(cmd.Context(), f.rate, selected)
}

// dry prints what would be done.
func (r *run) dry(rows []listing.Row) error {
	for _, row := range rows {
		if row.Snapshot.Status == client.Unknown {
			continue
		}
		l := object.Outcome{ID: row.Entry.ID, Agent: row.Entry.Agent, Outcome: object.Would, Note: row.Entry.Task}
		if err := write(r.stdout, l, r.json); err != nil {
			return err
		}
	}
	fmt.Fprintf(r.stderr, "%s would be %s; nothing was done\n", agentsText(r.all), r.done)
	return unreadError(r.unread)
}

// workOn returns the unit of work for one agent. An agent that has been deleted meanwhile counts as done.
func workOn(a Action, t Target) work {
	return work{t.ID, func(ctx context.Context) ([]object.Outcome, error) {
		o, err := a.Do(ctx, t)
		if errors.Is(err, client.ErrNotFound) {
			o, err = Outcome{object.Already, "it was deleted meanwhile"}, nil
		}
		if err != nil {
			return nil, err
		}
		return []object.Outcome{{ID: t.ID, Agent: t.Agent, Outcome: cmp.Or(o.Result, object.Done), Note: o.Note}}, nil
	}}
}

// confirmed asks the person, unless --yes was given. Without a terminal, --yes is needed.
func confirmed(cmd *cobra.Command, yes bool, question string, n int) (bool, error) {
	switch {
	case yes:
		return true, nil
	case !input.Interactive(cmd):
		return false, exit.Errorf(exit.Usage, "%s would be affected, and nothing was done: add --yes, or see them with --dry-run", agentsText(n))
	}
	return input.Confirm(cmd.Context(), cmd.InOrStdin(), cmd.ErrOrStderr(), question, "nothing was done")
}
