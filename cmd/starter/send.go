package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/bulk"
	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
	"github.com/reagent-dev/reagent/cmd/starter/internal/input"
	"github.com/reagent-dev/reagent/cmd/starter/internal/progress"
	"github.com/reagent-dev/reagent/cmd/starter/internal/screen"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/cmd/starter/internal/settle"
	"github.com/reagent-dev/reagent/cmd/starter/internal/turn"
	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/shellword"
)

// sending holds the flags of `starter send`.
type sending struct {
	detach, json, next bool
	untilAsked         bool
	images             []string
	messageID          string
	metadata           agent.Metadata
	overrides          agent.Overrides
	wait               time.Duration
	// choice says which choice of a question the message has named by its number.
	choice string
}

func newSend(g *session.Flags) *cobra.Command {
	var o sending
	cmd := &cobra.Command{
		Use:   "send [flags] {ID | --where EXPRESSION} [--] [TEXT|-]",
		Short: "Send an agent the next message and print its answer",
		Long: `send sends a message to an agent and prints the answer. On a terminal, it renders Markdown,
unless NO_COLOR is set. What the message does depends on the agent:

  - If the agent is waiting for a message, the message begins a new turn.
  - If the agent is working, it reads the message before its next model call. With --next,
    it reads the message after its answer.
  - If the agent's turn is held after a failure or an interrupt, the message continues the
    turn.
  - If the agent is waiting for the answer to a question, the message is the answer, unless
    it has an image. The number of a choice stands for the choice.

If TEXT is "-", or is missing, send reads it from standard input.

send needs a worker. It waits for one as long as --wait allows, and then ends with exit
code 5.

--model, --reasoning-effort, --only-tool, --add-instructions and --limit hold for the turn of
the message and no longer, as those of "starter run" hold for the agent. The message then
begins a turn of its own, as with --next.

An agent takes each message ID once. A script that may send a message twice should give
both the same --message-id: the agent then drops the second one, and send says so.

If a guardrail, or the person whom it asked, refuses the message or the answer, the exit code
is 9, and the reason is on standard error.

With --where, send does not wait for the answers, and all agents get the message under one
ID. The message is never the answer to a question: an agent that is waiting for one refuses
it, and counts as failed.`,
		Example: `  starter send talk 'And in French?'
  starter send --detach talk -- --verbose
  starter send talk - < question.txt
  starter send --detach --message-id mail-815 talk - < mail.txt
  starter send --where 'held and class == "QuotaExceeded"' 'Please go on.'`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: g.CompleteIDs(1, client.Running),
		RunE:              func(cmd *cobra.Command, args []string) error { return send(cmd, g, args[0], args[1:], o) },
	}
	session.AddWait(cmd, &o.wait, session.DefaultWait)
	f := cmd.Flags()
	f.BoolVar(&o.detach, "detach", false, "do not wait for the answer: return when the agent has the message")
	turn.AddUntilAsked(cmd, &o.untilAsked)
	f.StringArrayVar(&o.images, "image", nil, "show the model an image: a `file` or a web address; you can repeat the flag; all files together have at most 1 MiB")
	f.StringVar(&o.messageID, "message-id", "", "`ID` of the message, which the agent takes only once (default: a new one)")
	input.AddMetadata(f, &o.metadata, "what tools, hooks and people get to know about the message, such as who writes it")
	input.AddOverrides(f, &o.overrides)
	f.BoolVar(&o.next, "next", false, "if the agent is working, let it read the message after its answer")
	f.BoolVar(&o.json, "json", false, "print the answer as an object; with --detach, the ID of the message")
	return bulk.Offer(g, cmd, cobra.ArbitraryArgs, o.toAll)
}

// toAll returns the action that sends the message to each agent.
func (o *sending) toAll(cmd *cobra.Command, words []string) (bulk.Action, error) {
	m, err := o.message(cmd, words)
	if err != nil {
		return bulk.Action{}, err
	}
	m.ID, m.Automatic = cmp.Or(m.ID, uuid.NewString()), true
	if err := m.Check(); err != nil {
		return bulk.Action{}, exit.Errorf(exit.Usage, "%w", err)
	}
	return bulk.Action{
		Verb: "Send the message to", Done: "have the message", Statuses: bulk.Open, Again: "--message-id " + shellword.Quote(m.ID),
		Do: bulk.Reached(cmd, func(ctx context.Context, t bulk.Target, before client.Snapshot) (bulk.Outcome, error) {
			m := m
			m.Steer = o.steers(before)
			sent, err := t.Client.Send(ctx, t.ID, m)
			if err == nil && sent.Duplicate {
				return bulk.Outcome{Result: object.Already}, nil
			}
			return bulk.Outcome{}, err
		}),
	}, nil
}

// steers reports whether the message enters the running turn. One with overrides begins a turn of its own.
func (o *sending) steers(before client.Snapshot) bool {
	return !o.next && before.Status != client.Waiting && o.overrides.Equal(agent.Overrides{})
}

// message makes the message from the flags. Its text is in `words` or on standard input: see [input.Text].
func (o sending) message(cmd *cobra.Command, words []string) (m client.Message, err error) {
	m = client.Message{ID: o.messageID, Metadata: o.metadata, Overrides: o.overrides}
	if m.Text, err = input.Text(cmd, words); err != nil {
		return m, err
	}
	m.Images, err = input.Images(o.images)
	return m, err
}

// send carries out `starter send` for one agent.
func send(cmd *cobra.Command, g *session.Flags, id string, words []string, o sending) error {
	ctx := cmd.Context()
	m, err := o.message(cmd, words)
	if err != nil {
		return err
	}
	a, queue, done, err := g.AgentOf(ctx, id)
	if err != nil {
		return err
	}
	defer done()
	follow := progress.NewFollower(cmd.OutOrStdout(), cmd.ErrOrStderr(), queue, id, o.wait, !o.json)
	defer follow.End()
	follow.Messages = nil // send prints only the answer
	m.PartialText = follow.ShowsText()
	before, sent, err := o.deliver(ctx, a, m, follow.Wait)
	if err != nil {
		return err
	}
	if err := o.say(id, follow, sent); err != nil || o.detach || sent.Duplicate {
		return err // the answer to a duplicate may have come long ago
	}
	await := a.AwaitReply
	if o.untilAsked {
		await = a.Reply
	}
	end, err := await(ctx, sent.MessageID, before.Count, follow.See)
	follow.End()
	if err != nil {
		return session.GoesOn(ctx, session.WithExitCode(err, queue), id)
	}
	if o.json {
		err = cmp.Or(object.Print(cmd.OutOrStdout(), object.NewReply(sent.MessageID, end)), turn.PrintCalls(cmd.OutOrStdout(), end))
	} else if end.Answer != "" && end.Refusal == nil {
		err = screen.PrintProse(cmd.OutOrStdout(), end.Answer)
	}
	if err != nil {
		return err
	}
	return turn.Verdict(end)
}

// deliver waits for a worker and sends the message. `before` is the agent as it was before the message.
func (o *sending) deliver(ctx context.Context, a *client.Agent, m client.Message, wait *progress.Notice) (before client.Snapshot, sent client.Sent, err error) {
	if before, err = session.Reach(ctx, a, wait); err != nil {
		return before, sent, session.Unanswered(err, wait, "the message was not sent")
	}
	if before.WaitsFor == client.WaitsForAnswer && len(m.Images) == 0 {
		typed := m.Text
		if _, m.Text, err = settle.Chosen(ctx, a, "", typed); err != nil {
			return before, sent, session.WithExitCode(err, wait.Queue)
		}
		o.choice = settle.ChoiceText(typed, m.Text)
	}
	m.Steer = o.steers(before)
	bounded, _, cancel := session.Within(ctx, o.wait)
	defer cancel()
	if sent, err = a.Send(bounded, m); err != nil {
		return before, sent, session.Unanswered(err, wait, fmt.Sprintf(
			"it is not known whether the agent has the message; send it again with --message-id %s: the agent takes it only once", shellword.Quote(sent.MessageID)))
	}
	wait.Limit = 0 // from here on the command waits without a limit, because the agent has the message
	wait.Over()
	return before, sent, nil
}

// say tells the person that the agent has dropped the message, or has taken it as an answer. With --json, it prints the result, but only
// if the command does not wait for the answer.
func (o sending) say(id string, follow *progress.Follower, sent client.Sent) error {
	switch {
	case o.json && (o.detach || sent.Duplicate):
		return object.Print(follow.Stdout, object.NewSent(id, sent))
	case sent.Duplicate && sent.Differs:
		fmt.Fprintf(follow.Stderr, "The agent already has another message with the ID %s; this message was dropped. Send it again with another --message-id.\n", sent.MessageID)
	case sent.Duplicate:
		fmt.Fprintf(follow.Stderr, "The agent already has message ID %s; this message was dropped.\n", sent.MessageID)
	case sent.Answered != "" && !o.detach:
		fmt.Fprintln(follow.Stderr, "The message answers the agent's question"+o.choice+".")
	}
	return nil
}
