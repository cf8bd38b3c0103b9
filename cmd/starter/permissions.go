package main

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/cmd/starter/internal/view"
	"github.com/reagent-dev/reagent/internal/printable"
)

func newPermissions(g *session.Flags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "permissions ID",
		Short: "List what an agent may do without asking a person",
		Long: `permissions shows what an agent may do without asking a person: the permissions that
people have given with --for-agent or --for-agent-call of "starter approve", or in a chat.
Each line begins with the NAME of a permission, for "starter revoke". Sub-agents have their
own permissions. permissions needs no worker.`,
		Example:           "  starter permissions report",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: g.CompleteIDs(1, client.Running),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, queue, done, err := g.AgentsOf(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			defer done()
			all, err := c.Permissions(cmd.Context(), args[0])
			if err != nil {
				return session.WithExitCode(err, queue)
			}
			return printPermissions(cmd.OutOrStdout(), all, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the permissions as JSON")
	return cmd
}

// permissionView is the JSON form of one permission. Fields may be added, but must not be changed.
type permissionView struct {
	Name string `json:"name"`
	agent.Permission
}

// maxArguments is the largest number of characters of arguments that are shown without --json.
const maxArguments = 4000

func printPermissions(out io.Writer, all []agent.Permission, asJSON bool) error {
	if asJSON {
		views := make([]permissionView, len(all))
		for i, p := range all {
			views[i] = permissionView{p.Key.Handle(), p}
		}
		return view.JSON(out, views)
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(out, "The agent has no permissions: a person decides on each call that needs an approval.")
		return err
	}
	for _, p := range all {
		arguments := "with any arguments"
		if p.Arguments != "" {
			arguments = printable.Line(p.Arguments, maxArguments)
		}
		by := cmp.Or(p.By, "an unknown person") // clients of earlier versions may leave the name empty
		_, err := fmt.Fprintf(out, "%s  %s %s, by %s, %s\n", p.Key.Handle(), printable.Name(p.Tool), arguments, printable.Name(by), time.UnixMilli(p.Time).Format(time.DateTime))
		if err != nil {
			return err
		}
	}
	return nil
}
