package main

import (
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
	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/internal/shellword"
)

func newRevoke(g *session.Flags) *cobra.Command {
	var asJSON bool
	var wait time.Duration
	cmd := &cobra.Command{
		Use:   "revoke ID [PERMISSION...]",
		Short: "Revoke what an agent may do without asking a person",
		Long: `revoke removes permissions of an agent, or all of them if you give no PERMISSION. The
agent then asks a person again. PERMISSION is the handle of a permission, which "starter
permissions" shows, or its key. revoke needs a worker.`,
		Example: `  starter revoke report 3f2a91c4   # one permission
  starter revoke report            # all`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: g.CompleteIDs(1, client.Running),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, names := args[0], args[1:]
			return session.Change(cmd, g, id, wait, func(ctx context.Context, c *client.Client, _ func()) error {
				return revoke(ctx, c, id, names, asJSON, cmd.OutOrStdout(), cmd.ErrOrStderr())
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print an object on a line for each revoked permission")
	session.AddWait(cmd, &wait, session.DefaultWait)
	return cmd
}

// revoke says what it has revoked, also if an error ends it before the last permission.
func revoke(ctx context.Context, c permissionRevoker, id string, names []string, asJSON bool, stdout, stderr io.Writer) error {
	var revoked []agent.Permission
	err := revokePermissions(ctx, c, id, names, func(p agent.Permission) {
		if revoked = append(revoked, p); !asJSON {
			fmt.Fprintf(stderr, "Revoked %s %s of agent %s\n", p.Key.Handle(), printable.Name(p.Tool), printable.Name(id))
		}
	})
	switch {
	case asJSON && (err == nil || len(revoked) > 0):
		if printed := printPermissions(stdout, id, revoked, true); err == nil {
			err = printed
		}
	case err == nil && len(revoked) == 0:
		fmt.Fprintf(stderr, "Nothing was revoked: agent %s has no permissions.\n", printable.Name(id))
	}
	return err
}

type permissionRevoker interface {
	Permissions(ctx context.Context, id string) ([]agent.Permission, error)
	Revoke(ctx context.Context, id string, key agent.Key) error
}

// revokePermissions removes the permissions with the given names, or all if there are no names. It calls `say` after each.
func revokePermissions(ctx context.Context, c permissionRevoker, id string, names []string, say func(agent.Permission)) error {
	all, err := c.Permissions(ctx, id)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !slices.ContainsFunc(all, func(p agent.Permission) bool { return p.Key.Handle() == name || string(p.Key) == name }) {
			return exit.Errorf(exit.WrongState, "agent %q has no permission %q; see `%s`", id, name, shellword.Starter("permissions", id))
		}
	}
	for _, p := range all {
		if len(names) > 0 && !slices.Contains(names, p.Key.Handle()) && !slices.Contains(names, string(p.Key)) {
			continue
		}
		if err := c.Revoke(ctx, id, p.Key); err != nil {
			return err
		}
		say(p)
	}
	return nil
}
