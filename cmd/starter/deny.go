package main

import (
	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/cmd/starter/internal/settle"
)

func newDeny(g *session.Flags) *cobra.Command {
	var o settle.Decision
	cmd := &cobra.Command{
		Use:   "deny ID [CALL]",
		Short: "Refuse a call of a tool or sub-agent",
		Long: `deny refuses a call that waits for a person. The call may be one of the agent or of a
sub-agent below it. CALL is the name that "starter inbox" shows; it may be left out if
one call waits. On a terminal, deny without CALL shows the call that waits now, and asks.
The model is told that a person refused the call, and the reason.`,
		Example: `  starter deny report 3f2a91c4 --reason 'too expensive'
  starter deny report --all --yes`,
	}
	cmd.Flags().StringVar(&o.Reason, "reason", "", "tell the model this `text`")
	return o.Command(g, cmd)
}
