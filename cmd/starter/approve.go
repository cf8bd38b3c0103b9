package main

import (
	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/cmd/starter/internal/settle"
)

func newApprove(g *session.Flags) *cobra.Command {
	o := settle.Decision{Approve: true}
	cmd := &cobra.Command{
		Use:   "approve ID [CALL]",
		Short: "Approve a tool or sub-agent call",
		Long: `approve approves a tool or sub-agent call that is waiting for an approval. The call may be
one of the agent or of a sub-agent below it.

CALL is the handle of the call, which "starter inbox" shows, or its key. You can leave out
CALL if only one call is waiting. On a terminal, approve without CALL shows the call and asks first. The approval
is only for the arguments that are shown.

A text about which a guardrail asks stands among the calls. approve lets it through as it is,
one at a time: --all leaves such texts alone, and says how many.

With --arguments, the call runs with other arguments, and the model is told so. With
--for-agent, this agent's other calls of the tool run, too: those that wait already, and
later ones. With --for-agent-call, only later calls with the same arguments do. "starter
permissions" lists these permissions, and "starter revoke" revokes them.`,
		Example: `  starter inbox
  starter approve report 3f2a91c4
  starter approve report                # shows the waiting call, and asks
  starter approve report 3f2a91c4 --arguments '{"amount": 10}'
  starter approve report --for-agent
  starter approve report --all --yes`,
	}
	cmd.Flags().StringVar(&o.Arguments, "arguments", "", "run the call with these arguments, a `JSON` object")
	cmd.Flags().BoolVar(&o.Remember.Tool, "for-agent", false, "also approve this agent's other calls of the tool: those that wait, and later ones")
	cmd.Flags().BoolVar(&o.Remember.Call, "for-agent-call", false, "also approve this agent's later calls of the tool with the same arguments")
	cmd.MarkFlagsMutuallyExclusive("for-agent", "for-agent-call", "arguments")
	return o.Command(g, cmd)
}
