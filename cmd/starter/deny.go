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
		Short: "Refuse a tool or sub-agent call",
		Long: `deny refuses a call that is waiting for an approval. The call may be one of the agent or
of a sub-agent below it. The model is told that a person refused the call, and the reason.

A text about which a guardrail asks stands among the calls. deny refuses it, one at a time:
--all leaves such texts alone, and says how many.

CALL is the handle of the call, which "starter inbox" shows, or its key. You can leave out
CALL if only one call is waiting. On a terminal, deny without CALL shows the call and asks first.`,
		Example: `  starter deny report 3f2a91c4 --reason 'too expensive'
  starter deny report --all --yes`,
	}
	cmd.Flags().StringVar(&o.Reason, "reason", "", "`text` that tells the model why")
	return o.Command(g, cmd)
}
