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
		Short: "Let a call of a tool or sub-agent run",
		Long: `approve lets a call run that waits for a person. The call may be one of the agent or of
a sub-agent below it. CALL is the name that "starter inbox" shows; it may be left out if
one call waits. On a terminal, approve without CALL shows the call that waits now, and
asks. The approval holds only for the arguments that are shown.

With --arguments the call runs with other arguments, and the model is told so. With
--for-agent all later calls of this tool run without a decision, for this agent;
with --for-agent-call only those with the same arguments. "starter permissions" lists
and revokes them.`,
		Example: `  starter inbox
  starter approve report 3f2a91c4
  starter approve report                # shows the call that waits, and asks
  starter approve report 3f2a91c4 --arguments '{"amount": 10}'
  starter approve report --for-agent
  starter approve report --all --yes`,
	}
	cmd.Flags().StringVar(&o.Arguments, "arguments", "", "run the call with these arguments, a `JSON` object")
	cmd.Flags().BoolVar(&o.Remember.Tool, "for-agent", false, "let all later calls of this tool by this agent run, too")
	cmd.Flags().BoolVar(&o.Remember.Call, "for-agent-call", false, "let later calls with the same arguments run, too")
	cmd.MarkFlagsMutuallyExclusive("for-agent", "for-agent-call", "arguments")
	return o.Command(g, cmd)
}
