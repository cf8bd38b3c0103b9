package main

import (
	"fmt"
	"io"
	"os"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/compare"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/printable"
)

func newDiff(g *session.Flags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Compare what two agents were told, said and did",
		Long: `diff shows in what the definitions of two agents differ, such as the instructions, the
models and the limits. Then it shows the first message in which the agents differ: the text
and the calls of each, side by side on a terminal. Below, it compares their model calls,
tool calls, tokens, cost, duration and answers. Tokens and cost include the sub-agents that
have ended.

diff compares what was said and called. Keys and times differ in any two agents, and so do
the handles of sub-agents. The duration is that of all model calls and tool calls, with
what they waited for, and without the time between a chat's turns.

diff reads histories and needs no worker. Of an agent that is running, it compares what
has happened until now. The exit code is 0, also if the agents differ.`,
		Example: "  starter diff report report-2\n  starter diff --json report report-2 | jq '.a.message, .b.message'",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("diff takes the IDs of two agents, but got %d: `%s A B`", len(args), cmd.CommandPath())
			}
			return nil
		},
		ValidArgsFunction: g.CompleteIDs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, _, done, err := g.AgentsOf(cmd.Context(), "")
			if err != nil {
				return err
			}
			defer done()
			return session.WithExitCode(diff(cmd, c, args, asJSON), "")
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the comparison as one object, with whole texts")
	return cmd
}

func diff(cmd *cobra.Command, c *client.Client, ids []string, asJSON bool) error {
	var both [2]client.Snapshot
	for i, id := range ids {
		snap, err := c.ShowRecorded(cmd.Context(), id)
		if err != nil {
			return err
		}
		if snap.First > 0 {
			earlier, err := c.Earlier(cmd.Context(), id, snap.First)
			if err != nil {
				return fmt.Errorf("agent %s cannot be compared from its beginning: %w", id, err)
			}
			snap.Messages, snap.First = append(earlier, snap.Messages...), 0
		}
		both[i] = snap
	}
	found := compare.Agents(both[0], both[1])
	if asJSON {
		return object.Print(cmd.OutOrStdout(), found)
	}
	compare.Print(cmd.OutOrStdout(), found, width(cmd.OutOrStdout()))
	return nil
}

// width returns the number of columns of the terminal; 0 if the output is none.
func width(out io.Writer) int {
	file, ok := printable.Unwrap(out).(*os.File)
	if !ok || !term.IsTerminal(file.Fd()) {
		return 0
	}
	columns, _, err := term.GetSize(file.Fd())
	if err != nil {
		return 0
	}
	return columns
}
