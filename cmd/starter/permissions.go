package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/cmd/starter/internal/view"
	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/internal/shellword"
)

func newPermissions(g *session.Flags) *cobra.Command {
	var revoke, asJSON bool
	var wait time.Duration
	cmd := &cobra.Command{
		Use:   "permissions ID [NAME...]",
		Short: "List or revoke what an agent may do without asking a person",
		Long: `permissions shows what an agent may do without asking a person: the permissions that
people have given with --for-agent or --for-agent-call of "starter approve", or in a chat.
Each line begins with the NAME of a permission. Sub-agents have their own permissions.

--revoke removes the named permissions, or all of them if you give no NAME. The agent then
asks a person again. Only --revoke needs a worker.`,
		Example: `  starter permissions report
  starter permissions report 3f2a91c4 --revoke   # one permission
  starter permissions report --revoke            # all`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: g.CompleteIDs(1, client.Running),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, names := args[0], args[1:]
			if len(names) > 0 && !revoke {
				return exit.Errorf(exit.Usage, "NAME is only for --revoke; add --revoke, or leave out the names")
			}
			if revoke {
				return session.Change(cmd, g, id, wait, func(ctx context.Context, c *client.Client, _ func()) error {
					return revokePermissions(ctx, c, cmd.ErrOrStderr(), id, names)
				})
			}
			c, queue, done, err := g.AgentsOf(cmd.Context(), id)
			if err != nil {
				return err
			}
			defer done()
			all, err := c.Permissions(cmd.Context(), id)
			if err != nil {
				return session.WithExitCode(err, queue)
			}
			return printPermissions(cmd.OutOrStdout(), all, asJSON)
		},
	}
	cmd.Flags().BoolVar(&revoke, "revoke", false, "remove the named permissions, or all of them")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the permissions as JSON")
	session.AddWait(cmd, &wait, session.DefaultWait)
	return cmd
}

type permissionRevoker interface {
	Permissions(ctx context.Context, id string) ([]agent.Permission, error)
	Revoke(ctx context.Context, id string, key agent.Key) error
}

// revokePermissions removes all permissions if there are no names.
func revokePermissions(ctx context.Context, c permissionRevoker, out io.Writer, id string, names []string) error {
	all, err := c.Permissions(ctx, id)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !slices.ContainsFunc(all, func(p agent.Permission) bool { return p.Key.Handle() == name || string(p.Key) == name }) {
			return exit.Errorf(exit.WrongState, "agent %q has no permission %q; see `%s`", id, name, shellword.Starter("permissions", id))
		}
	}
	if len(all) == 0 {
		fmt.Fprintf(out, "Nothing was revoked: agent %s has no permissions.\n", printable.Name(id))
	}
	for _, p := range all {
		if len(names) > 0 && !slices.Contains(names, p.Key.Handle()) && !slices.Contains(names, string(p.Key)) {
			continue
		}
		if err := c.Revoke(ctx, id, p.Key); err != nil {
			return err
		}
		fmt.Fprintf(out, "Revoked %s %s of agent %s\n", p.Key.Handle(), printable.Name(p.Tool), printable.Name(id))
	}
	return nil
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
