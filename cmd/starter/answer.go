package main

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
)

// giving are the flags of `starter answer` and `starter complete`.
type giving struct {
	// kind is the kind of call that the command settles.
	kind    client.WaitsFor
	call    string
	isError bool
	wait    time.Duration
}

func newAnswer(g *globals) *cobra.Command {
	o := giving{kind: client.WaitsForAnswer}
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
	cmd.Flags().BoolVar(&o.isError, "decline", false, "decline to answer; TEXT is the reason")
	return o.command(g, cmd, "Answered")
}

func newComplete(g *globals) *cobra.Command {
	o := giving{kind: client.WaitsForResult}
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
	cmd.Flags().BoolVar(&o.isError, "error", false, "the result describes a failure")
	return o.command(g, cmd, "Completed")
}

// command adds to `cmd` what `starter answer` and `starter complete` have in common.
func (o *giving) command(g *globals, cmd *cobra.Command, verb string) *cobra.Command {
	cmd.Args = cobra.MinimumNArgs(2)
	cmd.ValidArgsFunction = completeIDs(g, 1, client.Running)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		result, err := givenText(cmd, args[1:])
		if err != nil {
			return err
		}
		return change(cmd, g, args[0], o.wait, func(ctx context.Context, c *client.Client, _ func()) error {
			w, err := c.Complete(ctx, args[0], o.call, result, client.CompleteOptions{For: o.kind, IsError: o.isError})
			if err != nil {
				return refused(err)
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "%s %s\n", verb, namedCall(w))
			return nil
		})
	}
	cmd.Flags().StringVar(&o.call, "call", "", "`name` of the call, as inbox shows it")
	addWait(cmd, &o.wait, defaultWait)
	return cmd
}

// givenText returns the text of an answer or of a result, as [text] does. The error has the code [exitUsage] if no agent takes the text.
func givenText(cmd *cobra.Command, args []string) (string, error) {
	given, err := textUpTo(cmd, args, agent.MaxGivenBytes)
	switch {
	case err != nil:
		return "", err
	case len(given) > agent.MaxGivenBytes:
		return "", exitf(exitUsage, "the text is larger than the limit of %d bytes", agent.MaxGivenBytes)
	case !utf8.ValidString(given): // the history has JSON, which cannot keep other bytes
		return "", exitf(exitUsage, "the text is not UTF-8")
	}
	return given, nil
}
