package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/internal/app/usage"
)

func newSetup(g *session.Flags) *cobra.Command {
	return &cobra.Command{
		Use:   "setup",
		Short: "Register the search attributes of agents",
		Long: `setup registers the search attributes of agents in the namespace, so that the Web UI, lists
and "starter inbox" find agents by their status and by whom they wait for. It leaves those
that exist. Agents that start afterwards have the attributes. "starter dev" registers them
itself. Temporal Cloud has a command of its own for it: see docs/operations.md.`,
		Example: "  starter setup --namespace agents",
		Args:    usage.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			t, err := g.Dial(cmd.Context())
			if err != nil {
				return err
			}
			defer t.Close()
			added, err := client.New(t, "").Setup(cmd.Context(), g.Namespace)
			switch {
			case err != nil:
				return session.WithExitCode(err, "")
			case len(added) == 0:
				fmt.Fprintf(cmd.ErrOrStderr(), "Namespace %s has all search attributes of agents\n", g.Namespace)
			default:
				fmt.Fprintf(cmd.ErrOrStderr(), "Registered %s in namespace %s\n", strings.Join(added, ", "), g.Namespace)
			}
			return nil
		},
	}
}
