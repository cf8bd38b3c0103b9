package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.temporal.io/api/serviceerror"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/app/usage"
	"github.com/reagent-dev/reagent/internal/protocol"
)

func newSetup(g *session.Flags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "setup",
		Short: "Register the search attributes of agents",
		Long: `setup registers the search attributes of agents in the namespace: fields by which Temporal
can search. With them, the Web UI and "temporal workflow list" find agents by their status
and by whom they wait for, and "starter inbox" is faster. Attributes that exist already
stay as they are. Only agents that start afterwards have the attributes. "starter dev"
registers them itself. "starter doctor" says whether they are there.

Temporal Cloud takes search attributes only from its own tools, and a server of your own may
take them only from administrators. setup then prints the command, for "tcld" or "temporal",
with the attributes that are missing.`,
		Example: "  starter setup --namespace agents",
		Args:    usage.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			t, err := g.Dial(cmd.Context())
			if err != nil {
				return err
			}
			defer t.Close()
			agents := client.New(t, "")
			missing, err := agents.MissingAttributes(cmd.Context(), g.Namespace)
			if err != nil {
				return setupError(err, g, slices.Sorted(maps.Keys(protocol.AttributeTypes())))
			}
			added, err := agents.Setup(cmd.Context(), g.Namespace)
			switch {
			case err != nil:
				return setupError(err, g, missing)
			case asJSON:
				return object.Print(cmd.OutOrStdout(), object.Setup{Namespace: g.Namespace, Registered: append([]string{}, added...)})
			case len(added) == 0:
				fmt.Fprintf(cmd.ErrOrStderr(), "Namespace %s has all search attributes of agents\n", g.Namespace)
			default:
				fmt.Fprintf(cmd.ErrOrStderr(), "Registered %s in namespace %s\n", strings.Join(added, ", "), g.Namespace)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the registered attributes as an object")
	return cmd
}

// setupError adds the command of somebody who administers the namespace, if a server does not let this client register the attributes that are
// missing. In Temporal Cloud, no client may.
func setupError(err error, g *session.Flags, missing []string) error {
	switch {
	case errors.Is(err, client.ErrNoServer), errors.Is(err, client.ErrNoNamespace):
		return session.WithExitCode(err, "")
	case g.InCloud():
		return fmt.Errorf("%w; in Temporal Cloud, register the attributes with `%s`, or in the Cloud UI", err, g.RegisterCommand(missing))
	case errors.As(err, new(*serviceerror.PermissionDenied)), errors.As(err, new(*serviceerror.Unimplemented)):
		return fmt.Errorf("%w; somebody who administers the server can register the attributes with `%s`", err, g.RegisterCommand(missing))
	}
	return session.WithExitCode(err, "")
}
