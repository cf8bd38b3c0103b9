package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/internal/usage"
)

// decision are the flags of `starter approve` and `starter deny`.
type decision struct {
	approve           bool
	arguments, reason string
	all               bool
	wait              time.Duration
}

func newApprove(g *globals) *cobra.Command {
	o := decision{approve: true}
	cmd := &cobra.Command{
		Use:   "approve ID [CALL]",
		Short: "Let a call of a tool or sub-agent run",
		Long: `approve lets a call run that waits for a person. The call may be one of the agent or of
a sub-agent below it. CALL is the name that "starter inbox" shows; it may be left out if
one call waits. The approval holds only for the arguments that inbox shows.

With --arguments the call runs with other arguments, and the model is told so.`,
		Example: `  starter inbox
  starter approve report
  starter approve report 3f2a91c4 --arguments '{"amount": 10}'
  starter approve report --all`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: completeIDs(g, 1, client.Running),
		RunE:              func(cmd *cobra.Command, args []string) error { return decide(cmd, g, args, o) },
	}
	cmd.Flags().StringVar(&o.arguments, "arguments", "", "run the call with these arguments, a `JSON` object")
	o.register(cmd)
	return cmd
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
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: completeIDs(g, 1, client.Running),
		RunE:              func(cmd *cobra.Command, args []string) error { return decide(cmd, g, args, o) },
	}
	cmd.Flags().StringVar(&o.reason, "reason", "", "tell the model this `text`")
	o.register(cmd)
	return cmd
}

func (o *decision) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.all, "all", false, "decide all calls that wait")
	addWait(cmd, &o.wait, defaultWait)
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
	return change(cmd, g, id, o.wait, func(ctx context.Context, c *client.Client, _ func()) error {
		options := client.DecideOptions{Arguments: o.arguments, Reason: o.reason}
		if !o.all {
			one := c.Deny
			if o.approve {
				one = c.Approve
			}
			w, err := one(ctx, id, name, options)
			return decided(cmd.ErrOrStderr(), w, o.approve, err)
		}
		waiting, err := c.Pending(ctx, id)
		if err == nil && len(waiting) == 0 {
			err = &client.NoCallError{ID: id}
		}
		if err != nil {
			return decided(cmd.ErrOrStderr(), client.Waits{}, o.approve, err)
		}
		for _, w := range waiting {
			err := c.Decide(ctx, w, agent.Decision{Approve: o.approve, Reason: o.reason})
			if err := decided(cmd.ErrOrStderr(), w, o.approve, err); err != nil {
				return err
			}
		}
		return nil
	})
}

// decided reports a decision, or returns its error with an exit code.
func decided(out io.Writer, w client.Waits, approve bool, err error) error {
	switch {
	case errors.As(err, new(*client.NoCallError)), errors.As(err, new(*client.AmbiguousCallError)), errors.Is(err, client.ErrRefused):
		return exitf(exitWrongState, "%w", err)
	case err != nil:
		return err
	}
	verb := "Denied"
	if approve {
		verb = "Approved"
	}
	fmt.Fprintf(out, "%s %s %s of agent %s\n", verb, w.Handle(), printable.Name(w.Call.Name), printable.Name(w.AgentID))
	return nil
}

// inboxOptions are the flags of `starter inbox`.
type inboxOptions struct {
	json, watch bool
}

func newInbox(g *globals) *cobra.Command {
	var o inboxOptions
	cmd := &cobra.Command{
		Use:   "inbox",
		Short: "List the calls that wait for a person's decision",
		Long: `inbox shows the calls of all agents that wait for a person's decision, the oldest first,
with the commands that settle them. It reads the histories of the running agents and
needs no worker.`,
		Example: `  starter inbox
  starter inbox --watch
  starter inbox --json`,
		Args: usage.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return inbox(cmd, g, o) },
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON")
	cmd.Flags().BoolVar(&o.watch, "watch", false, "show each new call until Ctrl-C")
	return cmd
}

// inboxPause is the time between two reads of `starter inbox --watch`.
const inboxPause = 5 * time.Second

// inbox carries out `starter inbox`.
func inbox(cmd *cobra.Command, g *globals, o inboxOptions) error {
	c, queue, done, err := g.agentsOf(cmd.Context(), "")
	if err != nil {
		return err
	}
	defer done()
	shown := map[agent.Key]bool{}
	for {
		slow := time.AfterFunc(silence, func() { fmt.Fprintln(cmd.ErrOrStderr(), "Reading the histories of the running agents…") })
		all, err := c.Inbox(cmd.Context())
		slow.Stop()
		if err != nil {
			return withExitCode(err, queue)
		}
		var fresh []client.Waits
		for _, w := range all {
			if !shown[w.Call.Key] {
				fresh = append(fresh, w)
			}
			shown[w.Call.Key] = true
		}
		if len(fresh) > 0 || !o.watch {
			if err := printInbox(cmd.OutOrStdout(), fresh, o.json, time.Now()); err != nil {
				return err
			}
		}
		if !o.watch {
			return nil
		}
		select {
		case <-time.After(inboxPause):
		case <-cmd.Context().Done():
			return exitf(exitInterrupted, "interrupted; the calls still wait")
		}
	}
}

// waitsView is the JSON form of one call in the output of `starter inbox`. Fields may be added, but must not be changed.
type waitsView struct {
	ID        string    `json:"id"`
	Agent     string    `json:"agent"`
	Call      string    `json:"call"`
	Key       agent.Key `json:"key"`
	Tool      string    `json:"tool"`
	Arguments string    `json:"arguments"`
	Since     time.Time `json:"since"`
}

// maxShown is the largest size, in bytes, of the arguments that `starter inbox` shows without --json.
const maxShown = 4000

// plainWord matches an ID that a shell takes as one word.
var plainWord = regexp.MustCompile(`^[\pL\pN._:/-]+$`)

// shellWord returns an ID as one word of a command.
func shellWord(id string) string {
	if plainWord.MatchString(id) {
		return id
	}
	return "'" + strings.ReplaceAll(id, "'", `'\''`) + "'"
}

func printInbox(out io.Writer, all []client.Waits, asJSON bool, now time.Time) error {
	if asJSON {
		views := make([]waitsView, len(all))
		for i, w := range all {
			views[i] = waitsView{w.AgentID, w.Agent, w.Handle(), w.Call.Key, w.Call.Name, w.Call.Arguments, time.UnixMilli(w.Since).UTC()}
		}
		return printJSON(out, views)
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(out, "Nothing waits for a decision.")
		return err
	}
	for _, w := range all {
		if len(w.Call.Arguments) > maxShown {
			fmt.Fprintf(out, "The next arguments have %d bytes and are cut; see them whole with --json.\n", len(w.Call.Arguments))
		}
		_, err := fmt.Fprintf(out, "%s (%s), for %s: %s %s\n  starter approve %s %s\n  starter deny %s %s --reason '…'\n",
			printable.Name(w.AgentID), printable.Name(w.Agent), age(now.Sub(time.UnixMilli(w.Since))), printable.Name(w.Call.Name),
			printable.Line(w.Call.Arguments, maxShown), shellWord(w.AgentID), w.Handle(), shellWord(w.AgentID), w.Handle())
		if err != nil {
			return err
		}
	}
	return nil
}
