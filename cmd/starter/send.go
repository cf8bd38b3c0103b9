package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/printable"
)

func newSend(g *globals) *cobra.Command {
	var detach, asJSON, next bool
	var pictures []string
	var messageID string
	var limit time.Duration
	cmd := &cobra.Command{
		Use:   "send [flags] ID [--] [TEXT|-]",
		Short: "Send an agent the next message and print its reply",
		Long: `send gives a message to an agent and prints the reply. To an agent that waits, the message
is its next turn. An agent that works on something reads it before its next
step; with --next it reads it when it has answered.

A worker takes the message; while none answers send waits, as long as --wait allows,
and then ends with exit code 5.

An agent takes each message ID once. A script that sends again what may have arrived gives
--message-id: the agent drops what it has already, and send says so.`,
		Example: `  starter send talk And in French?
  starter send --detach talk -- --verbose
  starter send talk - < question.txt
  starter send --detach --message-id mail-815 talk - < mail.txt`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: completeIDs(g, 1, client.Running),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stdout := cmd.Context(), cmd.OutOrStdout()
			id := args[0]
			message, err := text(cmd, args[1:])
			if err != nil {
				return err
			}
			images, err := readImages(pictures)
			if err != nil {
				return err
			}
			c, queue, done, err := g.agentsOf(ctx, id)
			if err != nil {
				return err
			}
			defer done()
			words := newPreview(stdout, !asJSON)
			defer words.end()
			wait := newWaitNotice(words.beside(cmd.ErrOrStderr()), queue, limit)
			wait.id = id
			wait.live = words
			defer wait.stop()
			before, err := reach(ctx, c, id, wait)
			if err != nil {
				return unanswered(err, wait, "the message was not sent")
			}
			steer := !next && before.Status != client.Waiting
			bounded, _, cancel := within(ctx, limit)
			sent, err := c.Send(bounded, id, client.Message{ID: messageID, Text: message, Images: images, Steer: steer})
			cancel()
			if err != nil {
				return unanswered(err, wait, fmt.Sprintf(
					"it is not known whether the agent has the message; send it again with --message-id %s, and the agent takes it once", sent.MessageID))
			}
			wait.limit = 0 // the agent has the message, and goes on by itself
			wait.over()
			if sent.Duplicate && !asJSON {
				fmt.Fprintf(words.beside(cmd.ErrOrStderr()), "The agent already has message ID %s; this message was dropped.\n", sent.MessageID)
			}
			// What the agent had already may be answered already: there is nothing to wait for.
			if detach || sent.Duplicate {
				if asJSON {
					return printJSON(stdout, sentView{ID: id, MessageID: sent.MessageID, Duplicate: sent.Duplicate})
				}
				return nil
			}
			reply, status, err := c.Reply(ctx, id, sent.MessageID, before.Count, wait.update)
			words.end()
			if err != nil {
				return goesOn(ctx, withExitCode(err, queue), id)
			}
			end, err := endOf(ctx, c, id, status)
			if err != nil {
				return goesOn(ctx, withExitCode(err, queue), id)
			}
			if asJSON {
				if err := printJSON(stdout, sentView{ID: id, MessageID: sent.MessageID, Status: status, Stopped: end.Stopped, Reply: reply}); err != nil {
					return err
				}
			} else if reply != "" {
				fmt.Fprintln(stdout, printable.Text(reply))
			}
			return end.verdict()
		},
	}
	addWait(cmd, &limit, defaultWait)
	f := cmd.Flags()
	f.BoolVar(&detach, "detach", false, "return when the agent has the message")
	f.StringArrayVar(&pictures, "image", nil, "show the model an image: a `file` of at most 1 MiB or a web address; may be repeated")
	f.StringVar(&messageID, "message-id", "", "`ID` of the message: the agent takes each ID once (default: a new one)")
	f.BoolVar(&next, "next", false, "let a busy agent read the message after its answer")
	f.BoolVar(&asJSON, "json", false, "print the reply as JSON")
	return cmd
}

// sentView is the JSON form of what send did.
type sentView struct {
	ID        string        `json:"id"`
	MessageID string        `json:"message_id"`
	Duplicate bool          `json:"duplicate,omitempty"`
	Status    client.Status `json:"status,omitempty"`
	// Stopped names the limit that ended the turn.
	Stopped string `json:"stopped,omitempty"`
	Reply   string `json:"reply,omitempty"`
}
