// Package turn shows the turn of an agent until its end, and says how it ended.
package turn

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/progress"
	"github.com/reagent-dev/reagent/cmd/starter/internal/screen"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/cmd/starter/internal/view"
	"github.com/reagent-dev/reagent/internal/app/object"
)

// Options says how the commands `starter run`, `starter resume` and `starter fork` show an agent to the user.
type Options struct {
	// Detach, JSON and Quiet are the values of the flags with these names.
	Detach, JSON, Quiet bool
	untilAsked          bool
	limit               time.Duration
	// Asked says that the message with which the command has started the agent asks for partial text (see
	// [client.StartOptions].PartialText). Then the command need not ask for it.
	Asked bool
	// Link is the address of the agent's page in the Web UI; empty means unknown.
	Link string
}

// AddFlags adds the flags --detach, --json, --quiet, --until-asked and --wait to a command.
func (f *Options) AddFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.Detach, "detach", false, "do not wait for the answer: print the agent's ID and return")
	flags.BoolVar(&f.JSON, "json", false, "print only the agent as an object, as \"starter show --json\" does, when it has answered, is held or has ended; with --detach, its ID and status")
	flags.BoolVarP(&f.Quiet, "quiet", "q", false, "print only the answer, and no messages, tokens and cost")
	AddUntilAsked(cmd, &f.untilAsked)
	cmd.MarkFlagsMutuallyExclusive("json", "quiet")
	session.AddWait(cmd, &f.limit, 0)
}

// AddUntilAsked adds the flag --until-asked to a command that has the flag --detach.
func AddUntilAsked(cmd *cobra.Command, to *bool) {
	cmd.Flags().BoolVar(to, "until-asked", false, "do not wait for people: if calls wait for a person or a program, name them and end with exit code 10; with --json, each is also an object")
	cmd.MarkFlagsMutuallyExclusive("detach", "until-asked")
}

// PrintCalls writes an object for each call that waits for somebody outside, as `starter inbox --json` does.
func PrintCalls(stdout io.Writer, end client.Snapshot) error {
	var calls []object.Waiting
	for _, w := range end.Waiting {
		calls = append(calls, object.NewWaiting(w))
	}
	return object.PrintAll(stdout, calls)
}

// Show prints an agent's messages as they come. It returns when the agent waits for the user, has ended, or is held (stopped by a failure;
// see [client.Held]). With `--until-asked`, it also returns when calls wait for somebody outside. The flags change what it prints:
//   - With `--quiet`, only the answer.
//   - With `--json`, only the agent as JSON.
//   - With `--detach`, only the agent's ID, and with `--json` its status, too. Show then returns at once. Standard error gets the link to
//     the agent's page, where the agent says what it waits for.
//
// The result is an error if the agent is held, has ended without an answer, or has reached a limit, or if calls wait. It is also an error if no worker or no
// server answers in time, or if ctx ends.
func (f Options) Show(cmd *cobra.Command, c *client.Client, queue string, started client.Started) error {
	ctx, stdout, stderr := cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	if f.Detach {
		if f.JSON {
			return object.Print(stdout, object.NewStarted(started))
		}
		if f.Link != "" {
			fmt.Fprintln(stderr, f.Link)
		}
		_, err := fmt.Fprintln(stdout, started.ID)
		return err
	}
	plain := !f.JSON && !f.Quiet
	follow := progress.NewFollower(stdout, stderr, queue, started.ID, f.limit, plain)
	defer follow.End()
	follow.UntilAsked = f.untilAsked
	if f.Asked {
		follow.Asked = time.Now()
	}
	if !plain {
		follow.Messages = nil
	}
	snap, err := follow.Watch(ctx, c)
	follow.End()
	if err != nil {
		return session.GoesOn(ctx, session.Unanswered(err, follow.Wait, "agent "+started.ID+" goes on when a worker answers"), started.ID)
	}
	switch {
	case f.JSON:
		full, err := c.Show(ctx, started.ID)
		if err != nil {
			return session.WithExitCode(err, queue)
		}
		if err := cmp.Or(object.Print(stdout, view.NewAgent(full)), PrintCalls(stdout, snap)); err != nil {
			return err
		}
	case f.Quiet && answered(snap) && snap.Refusal == nil && len(snap.Waiting) == 0:
		if err := screen.PrintProse(stdout, snap.Answer); err != nil {
			return err
		}
	case plain:
		fmt.Fprintln(stderr, usageLine(snap.Usage, f.Link))
	}
	return Verdict(snap)
}

func usageLine(u agent.Usage, link string) string {
	all := u.Spent()
	text := fmt.Sprintf("%d tokens in, %d out%s", all.InputTokens, all.OutputTokens, view.CostText(u))
	if link != "" {
		text += "  " + link
	}
	return text
}
