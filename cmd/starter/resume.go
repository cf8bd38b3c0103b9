package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/bulk"
	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/cmd/starter/internal/turn"
	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/app/usage"
	"github.com/reagent-dev/reagent/internal/shellword"
)

func newResume(g *session.Flags) *cobra.Command {
	var o client.ResumeOptions
	var show turn.Options
	cmd := &cobra.Command{
		Use:   "resume {ID | --where EXPRESSION}",
		Short: "Continue an agent that failed or was ended from outside",
		Long: `resume continues an agent that failed, was terminated or cancelled, or reached a timeout
of Temporal. The agent goes on from its last state and keeps its ID. Nothing that has a
result is done again. A tool call that began and has no result runs again only if its
tool is read-only or idempotent.

If the agent is running already, resume only shows it.

An agent that has completed cannot be resumed: use "starter fork" to go on from its answer
in a new agent. To give a running agent its new configuration, use "starter reload".

With --where, resume does not wait for the answers.`,
		Example: `  starter resume report
  starter resume report --message "Leave out the appendix."
  starter resume report --reload      # with its new configuration
  starter resume --where 'failed and agent == "support" and metadata.customer == "42"'
  starter resume --where 'failed and class == "ServerError"' --rate 2 --yes`,
		Args:              usage.OneID,
		ValidArgsFunction: g.CompleteIDs(1, client.Failed, client.Cancelled, client.Terminated, client.TimedOut),
		RunE: g.OnAgent(func(cmd *cobra.Command, args []string, c *client.Client, queue string) error {
			started, err := c.Resume(cmd.Context(), args[0], o)
			if errors.Is(err, client.ErrNotResumable) {
				return exit.Errorf(exit.WrongState, "%w", err)
			}
			if err != nil {
				return err
			}
			if started.Found && o.Reload && !started.Status.Ended() {
				return exit.Errorf(exit.WrongState, "agent %s is %s; it was not resumed, and its definition was not reloaded: use `%s`", started.ID, started.Status, shellword.Starter("reload", started.ID))
			}
			if started.Found && o.Message != "" {
				return exit.Errorf(exit.WrongState, "%s", notResumed(started, o))
			}
			if started.Found {
				fmt.Fprintln(cmd.ErrOrStderr(), notResumed(started, o))
			}
			return show.Show(cmd, c, queue, started)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&o.Message, "message", "", "send this `text`, which the agent reads before its next model call")
	f.BoolVar(&o.Reload, "reload", false, "give the agent the current definition that the workers have")
	show.AddFlags(cmd)
	ended := []client.Status{client.Failed, client.Cancelled, client.Terminated, client.TimedOut}
	return bulk.Offer(g, cmd, nil, func(*cobra.Command, []string) (bulk.Action, error) {
		return bulk.Action{Verb: "Resume", Done: "resumed", Statuses: ended, Do: func(ctx context.Context, t bulk.Target) (bulk.Outcome, error) {
			return resumeOne(ctx, t, o)
		}}, nil
	})
}

// resumeOne resumes an agent. If it is running, or another command has resumed it, there is nothing to resume, but the agent does not have
// the message or the definition in the options.
func resumeOne(ctx context.Context, t bulk.Target, o client.ResumeOptions) (bulk.Outcome, error) {
	started, err := t.Client.Resume(ctx, t.ID, o)
	switch {
	case err != nil || !started.Found:
		return bulk.Outcome{}, err
	case o.Message != "" || o.Reload:
		return bulk.Outcome{}, fmt.Errorf("it was resumed by another command meanwhile and is %s; that command decided about its message and its definition", started.Status)
	}
	return bulk.Outcome{Result: object.Already, Note: "it was resumed meanwhile and is " + string(started.Status)}, nil
}

func notResumed(found client.Started, o client.ResumeOptions) string {
	text := fmt.Sprintf("Agent %s is running already; it was not resumed.", found.ID)
	if found.Status.Ended() {
		text = fmt.Sprintf("Agent %s was resumed by another command meanwhile and is %s; it was not resumed again.", found.ID, found.Status)
	}
	if o.Message == "" {
		return text
	}
	if found.Status.Ended() {
		return text + " It does not have your message."
	}
	return text + fmt.Sprintf(" It does not have your message: send it with `%s`.", shellword.Starter("send", found.ID).Then("TEXT"))
}
