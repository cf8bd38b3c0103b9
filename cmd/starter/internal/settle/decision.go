package settle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
	"github.com/reagent-dev/reagent/cmd/starter/internal/input"
	"github.com/reagent-dev/reagent/cmd/starter/internal/screen"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/cmd/starter/internal/view"
	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/printable"
)

// Decision holds the flags of `starter approve` and `starter deny`.
type Decision struct {
	// Approve is true for approve and false for deny.
	Approve bool
	// Arguments replace those of the model; empty keeps them.
	Arguments string
	Reason    string
	Remember  Remember

	all, yes, json bool
	wait           time.Duration
}

// Remember holds the flags of `starter approve` that also permit later calls.
type Remember struct{ Tool, Call bool }

func (r Remember) kind() agent.Remember {
	switch {
	case r.Tool:
		return agent.RememberTool
	case r.Call:
		return agent.RememberCall
	}
	return ""
}

// Command adds to `cmd` what `starter approve` and `starter deny` have in common.
func (o *Decision) Command(g *session.Flags, cmd *cobra.Command) *cobra.Command {
	cmd.Args = cobra.RangeArgs(1, 2)
	cmd.ValidArgsFunction = g.CompleteIDs(1, client.Running)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return decide(cmd, g, args, *o) }
	cmd.Flags().BoolVar(&o.all, "all", false, cmd.Name()+" all calls that are waiting for an approval, but no text about which a guardrail asks")
	cmd.Flags().BoolVar(&o.json, "json", false, "print an object on a line for each call")
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask first")
	session.AddWait(cmd, &o.wait, session.DefaultWait)
	return cmd
}

func decide(cmd *cobra.Command, g *session.Flags, args []string, o Decision) error {
	id, name := args[0], ""
	if len(args) > 1 {
		name = args[1]
	}
	switch {
	case o.all && name != "":
		return exit.Errorf(exit.Usage, "--all and CALL cannot be used together; leave one of them out")
	case o.all && o.Arguments != "":
		return exit.Errorf(exit.Usage, "--all and --arguments cannot be used together; decide the calls one by one")
	}
	if err := o.check(cmd.Flags().Changed("arguments")); err != nil {
		return err
	}
	// Without the name of a call, the command decides on what waits now. That may be another call than the one that the person has read.
	ask := name == "" && !o.yes && input.Interactive(cmd)
	stderr := cmd.ErrOrStderr()
	return session.Change(cmd, g, id, o.wait, func(ctx context.Context, c *client.Client, accepted func()) error {
		if !o.all && !ask {
			var alike []client.Waits
			one, options := c.Deny, client.DecideOptions{
				Arguments: o.Arguments, Remember: o.Remember.kind(), Reason: o.Reason, Alike: func(w client.Waits) { alike = append(alike, w) },
			}
			if o.Approve {
				one = c.Approve
			}
			if err := o.fitsNamed(ctx, c, id, name); err != nil {
				return err
			}
			w, err := one(ctx, id, name, options)
			if err != nil {
				return refused(err)
			}
			return errors.Join(o.tell(cmd, w), o.tellAlike(cmd, alike))
		}
		waiting, texts, err := o.pending(ctx, c, id)
		if err != nil {
			return refused(err)
		}
		if ask {
			accepted() // the person may take any time
			fmt.Fprint(screen.Raw(stderr), o.shownText(waiting, time.Now(), screen.Styled(stderr)))
			yes, err := input.Confirm(ctx, cmd.InOrStdin(), stderr, o.question(len(waiting)), "nothing was decided")
			if err != nil || !yes {
				return err
			}
			var cancel func()
			ctx, _, cancel = session.Within(ctx, o.wait)
			defer cancel()
		}
		for _, w := range waiting {
			err := c.Decide(ctx, w, agent.Decision{Approve: o.Approve, Arguments: o.Arguments, Remember: o.Remember.kind(), Reason: o.Reason})
			if err != nil {
				return refused(err)
			}
			if err := o.tell(cmd, w); err != nil {
				return err
			}
		}
		if o.Remember.Tool {
			var alike []client.Waits
			alike, err = approveAlike(ctx, c, id, waiting)
			err = errors.Join(o.tellAlike(cmd, alike), err)
		}
		if len(texts) > 0 {
			fmt.Fprintf(stderr, "%s.\n", o.left(texts))
		}
		return err
	})
}

// tell says what was decided on a call.
func (o Decision) tell(cmd *cobra.Command, w client.Waits) error {
	if !o.json {
		stderr := cmd.ErrOrStderr()
		_, err := fmt.Fprint(screen.Raw(stderr), o.doneText(w, screen.Styled(stderr)))
		return err
	}
	verdict := object.Denied
	if o.Approve {
		verdict = object.Approved
	}
	d := object.NewDecision(w, verdict)
	d.NewArguments = o.Arguments
	return object.Print(cmd.OutOrStdout(), d)
}

// tellAlike says which other calls an approval of all calls of a tool has approved.
func (o Decision) tellAlike(cmd *cobra.Command, alike []client.Waits) error {
	o.Remember = Remember{}
	for _, w := range alike {
		if err := o.tell(cmd, w); err != nil {
			return err
		}
	}
	return nil
}

// approveAlike approves the calls that wait of the same tools and agents as those of `done`, and returns them, also with an error.
func approveAlike(ctx context.Context, c *client.Client, id string, done []client.Waits) (alike []client.Waits, err error) {
	waiting, err := c.Pending(ctx, id)
	if err != nil {
		return nil, err
	}
	decided := map[agent.Key]bool{} // two calls of `done` may be of the same tool
	for _, w := range done {
		decided[w.Call.Key] = true
	}
	for _, w := range done {
		for _, other := range w.Alike(waiting) {
			if decided[other.Call.Key] {
				continue
			}
			decided[other.Call.Key] = true
			switch err := c.Decide(ctx, other, agent.Decision{Approve: true}); {
			case err == nil:
				alike = append(alike, other)
			case !errors.Is(err, client.ErrRefused): // otherwise somebody else has decided
				return alike, err
			}
		}
	}
	return alike, nil
}

// check returns an error if the agent would refuse the flags for any call. `arguments` says whether the command line has the flag
// --arguments. An empty value of this flag is an error, because the call would run with the arguments of the model.
func (o Decision) check(arguments bool) error {
	flag, err := "--reason", agent.Decision{Key: "tool-00000000000000000000000000000000", Approve: o.Approve, Arguments: o.Arguments, Reason: o.Reason}.Check()
	if o.Approve {
		flag = "--arguments"
	}
	if err == nil && arguments && o.Arguments == "" {
		err = errors.New("the arguments are empty; give a JSON object, or leave the flag out to keep the arguments of the model")
	}
	if err != nil {
		return exit.Errorf(exit.Usage, "%s: %s", flag, strings.TrimPrefix(err.Error(), "decision: "))
	}
	return nil
}

// pending returns the calls on which a command without CALL decides, and the texts that --all leaves alone: see [Decision.choose]. If the
// agent has ended, the error is a [client.ClosedError].
func (o Decision) pending(ctx context.Context, c *client.Client, id string) (waiting, texts []client.Waits, err error) {
	if waiting, err = approvals(ctx, c, id); err != nil {
		return nil, nil, err
	}
	if len(waiting) == 0 {
		if snap, err := c.Describe(ctx, id); err == nil && snap.Status.Ended() {
			return nil, nil, &client.ClosedError{Operation: "decide", ID: id, Status: snap.Status}
		}
	}
	return o.choose(id, waiting)
}

// choose returns the calls on which a command without CALL decides: exactly one, or with the flag --all at least one. With --all, it also
// returns the texts, on which the command does not decide. If no call waits, the error is a [client.NoCallError] or names the texts. If
// several calls wait and the flag is missing, the error is a [client.AmbiguousCallError].
func (o Decision) choose(id string, waiting []client.Waits) (chosen, texts []client.Waits, err error) {
	if chosen = waiting; o.all {
		chosen, texts = splitTexts(waiting)
	}
	switch {
	case len(chosen) == 0 && len(texts) > 0:
		return nil, nil, exit.Errorf(exit.WrongState, "no call of agent %s or of its sub-agents waits for a decision; %s", printable.Name(id), o.left(texts))
	case len(chosen) == 0:
		return nil, nil, &client.NoCallError{ID: id, For: "a decision"}
	case len(chosen) > 1 && !o.all:
		return nil, nil, &client.AmbiguousCallError{ID: id, Waiting: chosen}
	}
	return chosen, texts, o.fits(chosen[0])
}

// fitsNamed is [Decision.fits] for the call with the given name, or for the only one if the name is empty. It reads what waits only if there
// is a flag that holds for calls only.
func (o Decision) fitsNamed(ctx context.Context, c *client.Client, id, name string) error {
	if o.callFlag() == "" {
		return nil
	}
	waiting, err := approvals(ctx, c, id)
	if err != nil {
		return err
	}
	waiting = slices.DeleteFunc(waiting, func(w client.Waits) bool { return name != "" && name != w.Handle() && name != string(w.Call.Key) })
	if len(waiting) != 1 {
		return nil // the decision has an error of its own
	}
	return o.fits(waiting[0])
}

func approvals(ctx context.Context, c *client.Client, id string) ([]client.Waits, error) {
	waiting, err := c.Pending(ctx, id)
	return slices.DeleteFunc(waiting, func(w client.Waits) bool { return w.Call.WaitsFor() != agent.WaitsForApproval }), err
}

// shownText returns the calls on which a person decides, with all of their arguments.
func (o Decision) shownText(waiting []client.Waits, now time.Time, styled bool) string {
	var b strings.Builder
	for _, w := range waiting {
		b.WriteString(AgentText(w, now) + view.CallName(w.Call) + "\n" + view.ArgumentsText(w.Call.Name, w.Call.Arguments, true, styled))
		if o.Arguments != "" {
			b.WriteString("It will run with these arguments instead:\n" + view.ArgumentsText(w.Call.Name, o.Arguments, true, styled))
		}
	}
	return b.String()
}

func (o Decision) question(n int) string {
	text, later := "Deny", ""
	if o.Approve {
		text = "Approve"
	}
	if n > 1 {
		text += fmt.Sprintf(" these %d calls", n)
	}
	switch {
	case o.Remember.Tool && n > 1:
		later = ", and let all other calls of their tools by their agents run, those that wait and later ones"
	case o.Remember.Tool:
		later = ", and let all other calls of this tool by this agent run, those that wait and later ones"
	case o.Remember.Call:
		later = ", and let later calls with the same arguments run, too"
	}
	return text + later + "?"
}

func (o Decision) doneText(w client.Waits, styled bool) string {
	verb := "Denied "
	if o.Approve {
		verb = "Approved "
	}
	text := verb + namedCall(w) + ":\n"
	if o.Arguments != "" {
		text += view.ArgumentsText(w.Call.Name, o.Arguments, false, styled) + "in place of:\n"
	}
	text += view.ArgumentsText(w.Call.Name, w.Call.Arguments, false, styled)
	if o.Remember.Tool {
		text += "Its other calls of " + printable.Name(w.Call.Name) + ", those that wait and later ones, run without asking.\n"
	}
	return text
}
