package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/app/usage"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/internal/shellword"
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
registers them itself.

Temporal Cloud takes search attributes only from its own tools. Register them with
"tcld namespace search-attributes add" or in the Cloud UI: see docs/production.md.`,
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
				return setupError(err, g)
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

// In Temporal Cloud, a client may read the search attributes of a namespace but not add any, so the error names the command that does.
func setupError(err error, g *session.Flags) error {
	if !g.InCloud() || errors.Is(err, client.ErrNoServer) || errors.Is(err, client.ErrNoNamespace) {
		return session.WithExitCode(err, "")
	}
	command := []string{"tcld namespace search-attributes add --namespace", shellword.Quote(g.Namespace)}
	types := protocol.AttributeTypes()
	for _, name := range slices.Sorted(maps.Keys(types)) {
		command = append(command, "--search-attribute", name+"="+types[name])
	}
	return fmt.Errorf("%w; in Temporal Cloud, register the attributes with `%s`, or in the Cloud UI", err, strings.Join(command, " "))
}
