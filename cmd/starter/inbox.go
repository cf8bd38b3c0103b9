package main

import (
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
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/cmd/starter/internal/settle"
	"github.com/reagent-dev/reagent/cmd/starter/internal/view"
	"github.com/reagent-dev/reagent/internal/app/usage"
	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/internal/shellword"
)

func newInbox(g *session.Flags) *cobra.Command {
	var asJSON, watch bool
	cmd := &cobra.Command{
		Use:   "inbox",
		Short: "List the calls that are waiting for a person",
		Long: `inbox shows the calls of all agents that are waiting for a person, the oldest first:
approvals, questions, and results from outside. Below each call are the commands for it.

inbox needs no worker. It reads the histories of all running agents. If the namespace has
the search attributes of "starter setup", inbox reads only the histories of agents that are
waiting, and of agents that started before the setup. This is faster.`,
		Example: `  starter inbox
  starter inbox --watch
  starter inbox --json`,
		Args: usage.NoArguments,
		RunE: g.OnAgent(func(cmd *cobra.Command, _ []string, c *client.Client, _ string) error {
			return inbox(cmd, c, asJSON, watch)
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the calls as JSON")
	cmd.Flags().BoolVar(&watch, "watch", false, "keep running until Ctrl-C, and also show each call that begins to wait later")
	return cmd
}

const inboxPause = 5 * time.Second

func inbox(cmd *cobra.Command, c *client.Client, asJSON, watch bool) error {
	shown := map[agent.Key]bool{}
	for {
		slow := time.AfterFunc(progress.Silence, func() { fmt.Fprintln(cmd.ErrOrStderr(), "Reading the histories of the running agents…") })
		all, err := c.Inbox(cmd.Context())
		slow.Stop()
		if err != nil {
			return err
		}
		var fresh []client.Waits
		for _, w := range all {
			if !shown[w.Call.Key] {
				fresh = append(fresh, w)
			}
			shown[w.Call.Key] = true
		}
		if len(fresh) > 0 || !watch {
			if err := printInbox(cmd.OutOrStdout(), fresh, asJSON, time.Now()); err != nil {
				return err
			}
		}
		if !watch {
			return nil
		}
		select {
		case <-time.After(inboxPause):
		case <-cmd.Context().Done():
			return exit.Errorf(exit.Interrupted, "interrupted; the calls are still waiting")
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
	// For says what the call waits for.
	For agent.WaitsFor `json:"for"`
	// Until is the time at which the wait ends. The field is absent if the wait has no limit.
	Until time.Time `json:"until,omitzero"`
}

func printInbox(out io.Writer, all []client.Waits, asJSON bool, now time.Time) error {
	if asJSON {
		views := make([]waitsView, len(all))
		for i, w := range all {
			views[i] = waitsView{
				ID: w.AgentID, Agent: w.Agent, Call: w.Handle(), Key: w.Call.Key, Tool: w.Call.Name, Arguments: w.Call.Arguments,
				Since: time.UnixMilli(w.Since).UTC(), For: w.Call.WaitsFor(),
			}
			if w.Call.Wait.Until != 0 {
				views[i].Until = time.UnixMilli(w.Call.Wait.Until).UTC()
			}
		}
		return view.JSON(out, views)
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(out, "Nothing waits for a person.")
		return err
	}
	for _, w := range all {
		text, cut := waitsText(w)
		text = settle.AgentText(w, now) + text
		if cut {
			text += fmt.Sprintf("  The arguments have %d bytes and are cut here, and a decision is about all of them: see `starter inbox --json`.\n", len(w.Call.Arguments))
		}
		if _, err := fmt.Fprint(out, text); err != nil {
			return err
		}
	}
	return nil
}

// waitsText returns the call and the commands for it. `cut` reports whether the text leaves out a part of the arguments.
func waitsText(w client.Waits) (text string, cut bool) {
	give := func(verb string) string {
		return "  " + shellword.Starter(verb, w.AgentID).With("--call "+w.Handle()).Then("'…'").String() + "\n"
	}
	switch w.Call.WaitsFor() {
	case agent.WaitsForAnswer:
		q, _ := w.Call.Question()
		var b strings.Builder
		for i, part := range append([]string{q.Question}, q.Choices...) {
			whole := printable.Line(part, math.MaxInt)
			shown := printable.Line(part, settle.MaxShown)
			b.WriteString([]string{"asks: ", "  - "}[min(i, 1)] + shown + "\n")
			cut = cut || shown != whole
		}
		return b.String() + give("answer"), cut
	case agent.WaitsForResult:
		text, cut = callText(w)
		return text + give("complete"), cut
	}
	text, cut = callText(w)
	approve, deny := shellword.Starter("approve", w.AgentID, w.Handle()), shellword.Starter("deny", w.AgentID, w.Handle()).With("--reason '…'")
	return fmt.Sprintf("%s  %s\n  %s\n", text, approve, deny), cut
}

// callText returns the name and the arguments of the call as a line. `cut` reports whether the end of the arguments is left out.
func callText(w client.Waits) (text string, cut bool) {
	arguments, cut := settle.ArgumentsText(w.Call.Arguments, settle.MaxShown)
	return printable.Name(w.Call.Name) + " " + arguments + "\n", cut
}
