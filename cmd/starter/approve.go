package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/printable"
)

// decision are the flags of `starter approve` and `starter deny`.
type decision struct {
	approve           bool
	arguments, reason string
	all               bool
	remember          remember
	wait              time.Duration
}

// remember are the flags of `starter approve` that permit later calls, too.
type remember struct{ tool, call bool }

// kind returns the flags as an [agent.Remember].
func (r remember) kind() agent.Remember {
	switch {
	case r.tool:
		return agent.RememberTool
	case r.call:
		return agent.RememberCall
	}
	return ""
}

func newApprove(g *globals) *cobra.Command {
	o := decision{approve: true}
	cmd := &cobra.Command{
		Use:   "approve ID [CALL]",
		Short: "Let a call of a tool or sub-agent run",
		Long: `approve lets a call run that waits for a person. The call may be one of the agent or of
a sub-agent below it. CALL is the name that "starter inbox" shows; it may be left out if
one call waits. The approval holds only for the arguments that inbox shows.

With --arguments the call runs with other arguments, and the model is told so. With
--for-agent all later calls of this tool run without a decision, for this agent;
with --for-agent-call only those with the same arguments. "starter permissions" lists
and revokes them.`,
		Example: `  starter inbox
  starter approve report
  starter approve report 3f2a91c4 --arguments '{"amount": 10}'
  starter approve report --for-agent
  starter approve report --all`,
	}
	cmd.Flags().StringVar(&o.arguments, "arguments", "", "run the call with these arguments, a `JSON` object")
	cmd.Flags().BoolVar(&o.remember.tool, "for-agent", false, "let all later calls of this tool by this agent run, too")
	cmd.Flags().BoolVar(&o.remember.call, "for-agent-call", false, "let later calls with the same arguments run, too")
	cmd.MarkFlagsMutuallyExclusive("for-agent", "for-agent-call", "arguments")
	return o.command(g, cmd)
}

func newDeny(g *globals) *cobra.Command {
	var o decision
	cmd := &cobra.Command{
		Use:   "deny ID [CALL]",
		Short: "Refuse a call of a tool or sub-agent",
		Long: `deny refuses a call that waits for a person. The call may be one of the agent or of a
sub-agent below it. CALL is the name that "starter inbox" shows; it may be left out if
one call waits. The model is told that a person refused the call, and the reason.`,
		Example: `  starter deny report --reason 'too expensive'
  starter deny report --all`,
	}
	cmd.Flags().StringVar(&o.reason, "reason", "", "tell the model this `text`")
	return o.command(g, cmd)
}

// command adds to `cmd` what `starter approve` and `starter deny` have in common.
func (o *decision) command(g *globals, cmd *cobra.Command) *cobra.Command {
	cmd.Args = cobra.RangeArgs(1, 2)
	cmd.ValidArgsFunction = completeIDs(g, 1, client.Running)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return decide(cmd, g, args, *o) }
	cmd.Flags().BoolVar(&o.all, "all", false, "decide all calls that wait for a decision")
	addWait(cmd, &o.wait, defaultWait)
	return cmd
}

// decide carries out `starter approve` and `starter deny`.
func decide(cmd *cobra.Command, g *globals, args []string, o decision) error {
	id, name := args[0], ""
	if len(args) > 1 {
		name = args[1]
	}
	switch {
	case o.all && name != "":
		return exitf(exitUsage, "--all and a CALL exclude each other; leave one of them out")
	case o.all && o.arguments != "":
		return exitf(exitUsage, "--all and --arguments exclude each other; decide the calls one by one")
	}
	verb := "Denied"
	if o.approve {
		verb = "Approved"
	}
	return change(cmd, g, id, o.wait, func(ctx context.Context, c *client.Client, _ func()) error {
		options := client.DecideOptions{Arguments: o.arguments, Remember: o.remember.kind(), Reason: o.reason}
		if !o.all {
			one := c.Deny
			if o.approve {
				one = c.Approve
			}
			w, err := one(ctx, id, name, options)
			return settled(cmd.ErrOrStderr(), w, verb, err)
		}
		waiting, err := c.Pending(ctx, id)
		waiting = slices.DeleteFunc(waiting, func(w client.Waits) bool { return w.Call.WaitsFor() != agent.WaitsForApproval })
		if err == nil && len(waiting) == 0 {
			err = &client.NoCallError{ID: id, For: "a decision"}
		}
		if err != nil {
			return settled(cmd.ErrOrStderr(), client.Waits{}, verb, err)
		}
		for _, w := range waiting {
			err := c.Decide(ctx, w, agent.Decision{Approve: o.approve, Remember: options.Remember, Reason: o.reason})
			if err := settled(cmd.ErrOrStderr(), w, verb, err); err != nil {
				return err
			}
		}
		return nil
	})
}

// settled reports what has happened to a call, such as "Approved", or returns its error with an exit code.
func settled(out io.Writer, w client.Waits, verb string, err error) error {
	switch {
	case errors.As(err, new(*client.NoCallError)), errors.As(err, new(*client.AmbiguousCallError)), errors.Is(err, client.ErrRefused):
		return exitf(exitWrongState, "%w", err)
	case err != nil:
		return err
	}
	fmt.Fprintf(out, "%s %s %s of agent %s\n", verb, w.Handle(), printable.Name(w.Call.Name), printable.Name(w.AgentID))
	return nil
}
