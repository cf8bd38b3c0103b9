package main

import (
	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/cmd/starter/internal/settle"
)

func newComplete(g *session.Flags) *cobra.Command {
	o := settle.Giving{Kind: client.WaitsForResult}
	cmd := &cobra.Command{
		Use:   "complete ID RESULT...",
		Short: "Give a result to a call whose work happens outside",
		Long: `complete gives a result to a call of a tool that agents.yaml lists under "external":
somebody outside does the work of such a call. A call takes one result.

--call is the handle of the call, which "starter inbox" shows, or its key. You can leave out --call if only one
such call is waiting. If RESULT is "-", complete reads it from standard input.`,
		Example: `  starter inbox
  starter complete report 'deployed version 12'
  starter complete report --call 3f2a91c4 --error 'the build is broken'`,
	}
	cmd.Flags().BoolVar(&o.IsError, "error", false, "mark the result as a failure; RESULT says what went wrong")
	return o.Command(g, cmd, "Completed")
}
