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
		Short: "Give the result of a call that happens outside",
		Long: `complete gives a call its result, if the tool is one whose results come from outside:
"external" in agents.yaml. With --call it gives the result of the call that
"starter inbox" shows under this name; it may be left out if one such call waits. A call
gets one result. The result "-" is read from the standard input.`,
		Example: `  starter inbox
  starter complete report 'deployed version 12'
  starter complete report --call 3f2a91c4 --error 'the build is broken'`,
	}
	cmd.Flags().BoolVar(&o.IsError, "error", false, "the result describes a failure")
	return o.Command(g, cmd, "Completed")
}
