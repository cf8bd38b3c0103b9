package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/client"
)

func newUpgrade(g *globals) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "upgrade ID",
		Short: "Let an agent go on with the current version of the workers",
		Long: `upgrade lets an agent go on in a new run, as soon as no model or tool call runs. With
versions of workers (worker --deployment), the new run begins on the current one:
an agent of pinned workers stays on its version until then. Nothing is repeated.`,
		Example:           "  starter upgrade talk",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeIDs(g, 1, client.Running),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, queue, done, err := g.agents(cmd.Context())
			if err != nil {
				return err
			}
			defer done()
			wait := newPatience(cmd.ErrOrStderr(), queue)
			defer wait.stop()
			run, err := c.UpgradeAndWait(cmd.Context(), args[0], wait.over)
			if err != nil {
				return coded(err, queue)
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), struct {
					ID  string `json:"id"`
					Run string `json:"run"`
				}{args[0], run})
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "Agent %s goes on in run %s\n", args[0], run)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
