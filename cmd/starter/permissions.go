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
	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/printable"
)

func newPermissions(g *session.Flags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "permissions ID",
		Short: "List what an agent may do without asking a person",
		Long: `permissions shows what an agent may do without asking a person: the permissions that
people have given with --for-agent or --for-agent-call of "starter approve", or in a chat.
Each line begins with the handle of a permission, for "starter revoke". Sub-agents have their
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
			return printPermissions(cmd.OutOrStdout(), args[0], all, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print an object on a line for each permission")
	return cmd
}

// maxArguments is the largest number of characters of arguments that are shown without --json.
const maxArguments = 4000

func printPermissions(out io.Writer, id string, all []agent.Permission, asJSON bool) error {
	if asJSON {
		for _, p := range all {
			if err := object.Print(out, object.NewPermission(id, p)); err != nil {
				return err
			}
		}
		return nil
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
