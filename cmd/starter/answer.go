package main

import (
	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/cmd/starter/internal/settle"
)

func newAnswer(g *session.Flags) *cobra.Command {
	o := settle.Giving{Kind: client.WaitsForAnswer}
	cmd := &cobra.Command{
		Use:   "answer ID TEXT...",
		Short: "Answer a question of an agent",
		Long: `answer answers a question of an agent, or of a sub-agent below it. The model asks with the
tool ask_user, and a tool, such as that of an MCP server, may ask during a call. With --call
it answers the question that "starter inbox" shows under this name; it may be left out if
one question waits. "starter send" answers the question of an agent, too. The text "-" is
read from the standard input.`,
		Example: `  starter inbox
  starter answer report 'the second one'
  starter answer report --call 3f2a91c4 - < answer.txt
  starter answer report --decline 'I do not know it either'`,
	}
	cmd.Flags().BoolVar(&o.IsError, "decline", false, "decline to answer; TEXT is the reason")
	return o.Command(g, cmd, "Answered")
}
