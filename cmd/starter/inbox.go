package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
	"github.com/reagent-dev/reagent/cmd/starter/internal/progress"
	"github.com/reagent-dev/reagent/cmd/starter/internal/screen"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/cmd/starter/internal/settle"
	"github.com/reagent-dev/reagent/cmd/starter/internal/view"
	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/app/usage"
	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/internal/shellword"
)

func newInbox(g *session.Flags) *cobra.Command {
	var o inboxOptions
	cmd := &cobra.Command{
		Use:   "inbox",
		Short: "List the calls that are waiting for a person",
		Long: `inbox shows the calls of all agents that are waiting for a person, the oldest first:
approvals, questions, and results from outside. Below each call are its arguments and the
commands for it. A text has its line breaks, an edit is shown as the lines that it removes
and adds, and a command as it would run. Long arguments are cut, unless --full is given.

inbox needs no worker. It reads the histories of all running agents. If the namespace has
the search attributes of "starter setup", inbox reads only the histories of agents that are
waiting, and of agents that started before the setup. This is faster. Agents that cannot be
read, for example for want of a codec, are named on stderr, and the exit code is then 8.`,
		Example: `  starter inbox
  starter inbox --watch
  starter inbox --full
  starter inbox --json`,
		Args: usage.NoArguments,
		RunE: g.OnAgent(func(cmd *cobra.Command, _ []string, c *client.Client, _ string) error {
			return o.run(cmd, c)
		}),
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "print an object on a line for each call")
	cmd.Flags().BoolVar(&o.watch, "watch", false, "keep running until Ctrl-C, and also show each call that begins to wait later")
	cmd.Flags().BoolVar(&o.full, "full", false, "show all arguments, also the long ones")
	cmd.MarkFlagsMutuallyExclusive("full", "json")
	return cmd
}

// inboxOptions holds the flags of `starter inbox`.
type inboxOptions struct{ json, watch, full bool }

const inboxPause = 5 * time.Second

func (o inboxOptions) run(cmd *cobra.Command, c *client.Client) error {
	shown, warned := map[agent.Key]bool{}, false
	for {
		slow := time.AfterFunc(progress.Silence, func() { fmt.Fprintln(cmd.ErrOrStderr(), "Reading the histories of the running agents…") })
		all, err := c.Inbox(cmd.Context())
		slow.Stop()
		unreadable, partly := errors.AsType[*client.UnreadableAgentsError](err)
		if err != nil && !partly {
			return err
		}
		if partly && !warned {
			warned = true
			for _, each := range unreadable.Errs {
				fmt.Fprintln(cmd.ErrOrStderr(), each)
			}
		}
		var fresh []client.Waits
		for _, w := range all {
			if !shown[w.Call.Key] {
				fresh = append(fresh, w)
			}
			shown[w.Call.Key] = true
		}
		if len(fresh) > 0 || !o.watch && !partly {
			if err := o.print(cmd.OutOrStdout(), fresh, time.Now()); err != nil {
				return err
			}
		}
		switch {
		case !o.watch && partly:
			return exit.Errorf(exit.Partly, "%d of the agents that may wait cannot be read", len(unreadable.Errs))
		case !o.watch:
			return nil
		}
		select {
		case <-time.After(inboxPause):
		case <-cmd.Context().Done():
			return exit.Errorf(exit.Interrupted, "interrupted; the calls are still waiting")
		}
	}
}

func (o inboxOptions) print(out io.Writer, all []client.Waits, now time.Time) error {
	if o.json {
		var calls []object.Waiting
		for _, w := range all {
			calls = append(calls, object.NewWaiting(w))
		}
		return object.PrintAll(out, calls)
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(out, "Nothing waits for a person.")
		return err
	}
	for _, w := range all {
		if _, err := fmt.Fprint(screen.Raw(out), settle.AgentText(w, now)+o.callText(w, screen.Styled(out))); err != nil {
			return err
		}
	}
	return nil
}

// callText returns a call that waits, and the commands for it. `styled` says whether the text has colours.
func (o inboxOptions) callText(w client.Waits, styled bool) string {
	give := func(verb string) string {
		return "  " + shellword.Starter(verb, w.AgentID).With("--call "+w.Handle()).Then("'…'").String() + "\n"
	}
	called := view.CallName(w.Call) + "\n" + view.ArgumentsText(w.Call.Name, w.Call.Arguments, o.full, styled)
	switch w.Call.WaitsFor() {
	case agent.WaitsForAnswer:
		return o.questionText(w) + give("answer")
	case agent.WaitsForResult:
		return called + give("complete")
	}
	approve, deny := shellword.Starter("approve", w.AgentID, w.Handle()), shellword.Starter("deny", w.AgentID, w.Handle()).With("--reason '…'")
	return fmt.Sprintf("%s  %s\n  %s\n", called, approve, deny)
}

// maxQuestion is the largest number of characters of a question, and of each of its choices, that are shown without the flag --full.
const maxQuestion = 4000

func (o inboxOptions) questionText(w client.Waits) string {
	q, _ := w.Call.Question()
	var b strings.Builder
	cut := false
	for i, part := range append([]string{q.Question}, q.Choices...) {
		whole := printable.Line(part, math.MaxInt)
		shown := whole
		if !o.full {
			shown = printable.Line(part, maxQuestion)
		}
		lead := "asks: "
		if i > 0 {
			lead = fmt.Sprintf("  %d  ", i)
		}
		b.WriteString(lead + shown + "\n")
		cut = cut || shown != whole
	}
	if cut {
		b.WriteString("    … the end of the question is left out here: `" + view.AllCommand + "` shows it\n")
	}
	return b.String()
}
