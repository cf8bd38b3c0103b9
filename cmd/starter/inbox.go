package main

import (
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

// inboxOptions are the flags of `starter inbox`.
type inboxOptions struct {
	json, watch bool
}

func newInbox(g *globals) *cobra.Command {
	var o inboxOptions
	cmd := &cobra.Command{
		Use:   "inbox",
		Short: "List the calls that wait for a person",
		Long: `inbox shows the calls of all agents that wait for a person, the oldest first: approvals,
questions, and tools whose results come from outside. Below each call stand the commands
that settle it. inbox needs no worker. If the namespace has the search attributes of
agents, it reads only the histories of the agents that wait.`,
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
	// For says for what the call waits.
	For agent.WaitsFor `json:"for"`
	// Until is the time at which the wait ends. The field is absent if the wait has no limit.
	Until *time.Time `json:"until,omitempty"`
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
			views[i] = waitsView{
				ID: w.AgentID, Agent: w.Agent, Call: w.Handle(), Key: w.Call.Key, Tool: w.Call.Name, Arguments: w.Call.Arguments,
				Since: time.UnixMilli(w.Since).UTC(), For: w.Call.WaitsFor(),
			}
			if w.Call.Until != 0 {
				until := time.UnixMilli(w.Call.Until).UTC()
				views[i].Until = &until
			}
		}
		return printJSON(out, views)
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(out, "Nothing waits for a person.")
		return err
	}
	for _, w := range all {
		if len(w.Call.Arguments) > maxShown {
			fmt.Fprintf(out, "The next arguments have %d bytes and are cut; see them whole with --json.\n", len(w.Call.Arguments))
		}
		limit := ""
		if w.Call.Until != 0 {
			limit = ", at most " + age(time.UnixMilli(w.Call.Until).Sub(now)) + " more"
		}
		fmt.Fprintf(out, "%s (%s), for %s%s: ", printable.Name(w.AgentID), printable.Name(w.Agent), age(now.Sub(time.UnixMilli(w.Since))), limit)
		if _, err := fmt.Fprint(out, waitsText(w)); err != nil {
			return err
		}
	}
	return nil
}

// waitsText returns the call and the commands that settle it.
func waitsText(w client.Waits) string {
	id := " " + shellWord(w.AgentID) + " "
	switch w.Call.WaitsFor() {
	case agent.WaitsForAnswer:
		q, _ := w.Call.Question()
		var text strings.Builder
		text.WriteString("asks: " + printable.Line(q.Question, maxShown) + "\n")
		for _, choice := range q.Choices {
			text.WriteString("  - " + printable.Line(choice, maxShown) + "\n")
		}
		return text.String() + "  starter answer" + id + "--call " + w.Handle() + " '…'\n"
	case agent.WaitsForResult:
		return callText(w) + "  starter complete" + id + "--call " + w.Handle() + " '…'\n"
	}
	return callText(w) + "  starter approve" + id + w.Handle() + "\n  starter deny" + id + w.Handle() + " --reason '…'\n"
}

// callText returns the name and the arguments of the call as a line.
func callText(w client.Waits) string {
	return printable.Name(w.Call.Name) + " " + printable.Line(w.Call.Arguments, maxShown) + "\n"
}
