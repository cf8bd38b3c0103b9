package main

import (
	"cmp"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/input"
	"github.com/reagent-dev/reagent/cmd/starter/internal/progress"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/cmd/starter/internal/turn"
	"github.com/reagent-dev/reagent/cmd/starter/internal/view"
	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/internal/shellword"
)

func newSend(g *session.Flags) *cobra.Command {
	var detach, asJSON, next bool
	var pictures []string
	var messageID string
	var limit time.Duration
	cmd := &cobra.Command{
		Use:   "send [flags] ID [--] [TEXT|-]",
		Short: "Send an agent the next message and print its answer",
		Long: `send sends a message to an agent and prints the answer. If the agent waits, the message
begins a new turn. If the agent works, it reads the message before its next step; with
--next it reads the message after its answer.

send needs a worker. It waits for one as long as --wait allows, and then ends with exit
code 5.

If the agent asks a question with the tool ask_user, the message is the answer.

An agent takes each message ID once. A script that may send a message twice should give
it a --message-id: the agent then drops the second one, and send says so.`,
		Example: `  starter send talk And in French?
  starter send --detach talk -- --verbose
  starter send talk - < question.txt
  starter send --detach --message-id mail-815 talk - < mail.txt`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: g.CompleteIDs(1, client.Running),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stdout := cmd.Context(), cmd.OutOrStdout()
			id := args[0]
			message, err := input.Text(cmd, args[1:])
			if err != nil {
				return err
			}
			images, err := input.Images(pictures)
			if err != nil {
				return err
			}
			c, queue, done, err := g.AgentsOf(ctx, id)
			if err != nil {
				return err
			}
			defer done()
			follow := progress.NewFollower(stdout, cmd.ErrOrStderr(), queue, id, limit, !asJSON)
			defer follow.End()
			follow.Messages = nil // send prints only the answer
			before, err := session.Reach(ctx, c, id, follow.Wait)
			if err != nil {
				return session.Unanswered(err, follow.Wait, "the message was not sent")
			}
			steer := !next && before.Status != client.Waiting
			bounded, _, cancel := session.Within(ctx, limit)
			sent, err := c.Send(bounded, id, client.Message{ID: messageID, Text: message, Images: images, Steer: steer, PartialText: follow.ShowsText()})
			cancel()
			if err != nil {
				return session.Unanswered(err, follow.Wait, fmt.Sprintf(
					"it is not known whether the agent has the message; send it again with --message-id %s: the agent takes it only once", shellword.Quote(sent.MessageID)))
			}
			follow.Wait.Limit = 0 // from here on the command waits without a limit, because the agent has the message
			follow.Wait.Over()
			if sent.Duplicate && !asJSON {
				fmt.Fprintf(follow.Stderr, "The agent already has message ID %s; this message was dropped.\n", sent.MessageID)
			}
			// Do not wait for the answer to a duplicate: it may have come long ago.
			if detach || sent.Duplicate {
				if asJSON {
					return view.JSON(stdout, sentView{ID: id, MessageID: sent.MessageID, Duplicate: sent.Duplicate})
				}
				return nil
			}
			if sent.Answered != "" {
				fmt.Fprintf(follow.Stderr, "The message answers the agent's question.\n")
			}
			snap, err := c.AwaitReply(ctx, id, cmp.Or(string(sent.Answered), sent.MessageID), before.Count, follow.See)
			follow.End()
			if err != nil {
				return session.GoesOn(ctx, session.WithExitCode(err, queue), id)
			}
			if asJSON {
				if err := view.JSON(stdout, sentView{ID: id, MessageID: sent.MessageID, Status: snap.Status, FinishReason: snap.FinishReason, Stopped: snap.Stopped, Reply: snap.Answer}); err != nil {
					return err
				}
			} else if snap.Answer != "" {
				fmt.Fprintln(stdout, printable.Text(snap.Answer))
			}
			return turn.EndOf(snap).Verdict()
		},
	}
	session.AddWait(cmd, &limit, session.DefaultWait)
	f := cmd.Flags()
	f.BoolVar(&detach, "detach", false, "return when the agent has the message")
	f.StringArrayVar(&pictures, "image", nil, "show the model an image: a `file` of at most 1 MiB or a web address; may be repeated")
	f.StringVar(&messageID, "message-id", "", "`ID` of the message: the agent takes each ID once (default: a new one)")
	f.BoolVar(&next, "next", false, "let a busy agent read the message after its answer")
	f.BoolVar(&asJSON, "json", false, "print the answer as JSON")
	return cmd
}

// sentView is the JSON form of the result of `starter send`. Scripts read this form. Fields may be added, but must not be
// changed.
type sentView struct {
	ID        string        `json:"id"`
	MessageID string        `json:"message_id"`
	Duplicate bool          `json:"duplicate,omitempty"`
	Status    client.Status `json:"status,omitempty"`
	// FinishReason is the provider's finish reason of a reply that may not be whole. The field is absent for other replies.
	FinishReason string `json:"finish_reason,omitempty"`
	// Stopped names the limit that ended the turn. The field is absent if no limit ended the turn.
	Stopped string `json:"stopped,omitempty"`
	Reply   string `json:"reply,omitempty"`
}
