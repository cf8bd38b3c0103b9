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
		Long: `answer answers a question of an agent, or of a sub-agent below it. The model asks with
the tool ask_user. A tool, for example of an MCP server, may also ask while it runs.

--call is the handle of the question, which "starter inbox" shows, or its key. You can leave out --call if only
one question is waiting. If the question has choices, TEXT may be the number of one. If
TEXT is "-", answer reads it from standard input.

"starter send" answers a question of the agent itself, too.`,
		Example: `  starter inbox
  starter answer report 'the blue one'
  starter answer report 2               # the second of the proposed answers
  starter answer report --call 3f2a91c4 - < answer.txt
  starter answer report --decline 'I do not know it either'`,
	}
	cmd.Flags().BoolVar(&o.IsError, "decline", false, "decline to answer; TEXT is the reason")
	return o.Command(g, cmd, "Answered")
}
