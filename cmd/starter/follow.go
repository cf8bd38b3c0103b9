package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
	"github.com/reagent-dev/reagent/cmd/starter/internal/progress"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/cmd/starter/internal/view"
	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/internal/shellword"
)

// following holds the options that say how a command shows an agent to the user. The commands `starter run`, `starter resume`
// and `starter fork` use it. Most of its fields are values of flags.
type following struct {
	// detach, json and quiet are the values of the flags with these names.
	detach, json, quiet bool
	// limit is how long the command waits for a worker to answer; 0 means no limit.
	limit time.Duration
	// asked says that the agent's message has asked for partial text.
	asked bool
	// link is the address of the agent's page in the Web UI; empty means unknown.
	link string
}

func (f *following) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.detach, "detach", false, "do not wait for the answer: print the agent's ID and return")
	flags.BoolVar(&f.json, "json", false, "when the agent has answered, print the agent as JSON, like show --json")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print only the answer")
	cmd.MarkFlagsMutuallyExclusive("json", "quiet")
	session.AddWait(cmd, &f.limit, 0)
}

// show prints an agent's messages as they come. It returns when the agent waits for the user, has ended, or is held (stopped
// by a failure; see [client.Held]). With the flag `--quiet`, show prints only the answer. With `--json`, it prints only the
// agent as JSON. With `--detach`, it prints only the agent's ID and returns at once. The result is an error if the agent is
// held, has ended without an answer, or has reached a limit.
func (f following) show(cmd *cobra.Command, c *client.Client, queue string, started client.Started) error {
	ctx, stdout, stderr := cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	if f.detach {
		if f.json {
			return view.JSON(stdout, map[string]any{"id": started.ID, "found": started.Found, "status": started.Status})
		}
		_, err := fmt.Fprintln(stdout, started.ID)
		return err
	}
	plain := !f.json && !f.quiet
	follow := progress.NewFollower(stdout, stderr, queue, started.ID, f.limit, plain)
	defer follow.End()
	if f.asked {
		follow.Asked = time.Now()
	}
	if !plain {
		follow.Messages = nil
	}
	status, err := follow.Watch(ctx, c)
	follow.End()
	if err != nil {
		return session.GoesOn(ctx, session.Unanswered(err, follow.Wait, "agent "+started.ID+" goes on when a worker answers"), started.ID)
	}
	end, err := endOf(ctx, c, started.ID, status)
	if err != nil {
		return session.GoesOn(ctx, session.WithExitCode(err, queue), started.ID)
	}
	switch {
	case f.json:
		full, err := c.Show(ctx, started.ID)
		if err != nil {
			return session.WithExitCode(err, queue)
		}
		if err := view.JSON(stdout, view.NewAgent(full)); err != nil {
			return err
		}
	case f.quiet && end.answered():
		fmt.Fprintln(stdout, printable.Text(end.Answer))
	case plain:
		fmt.Fprintln(stderr, usageLine(end.Usage, f.link))
	}
	return end.verdict()
}

// ending describes how an agent's last turn ended. A turn is the agent's work on one message of the user.
type ending struct {
	ID     string
	Status client.Status
	Answer string
	// FinishReason is the provider's finish reason if the provider may have cut the answer; otherwise, it is empty
	FinishReason string
	Stopped      string // the limit that ended the turn, such as "tokens"; empty if no limit ended it
	Failure      string
	Class        string
	Usage        agent.Usage
}

// endOf reads from an agent's history how the agent's last turn ended. It needs no worker. It copies the given status of the
// agent into its result.
func endOf(ctx context.Context, c *client.Client, id string, status client.Status) (ending, error) {
	snap, err := c.ShowRecorded(ctx, id)
	return ending{ID: id, Status: status, Answer: snap.Answer, FinishReason: snap.FinishReason, Stopped: snap.Stopped, Failure: snap.Failure, Class: snap.Class, Usage: snap.Usage}, err
}

// answered reports whether the agent has completed or waits for the user. The agent's last turn has then ended with an answer.
// The answer may be a notice that the agent has reached a limit. There is one exception: an agent that waits for a person's
// decision on a tool call counts as answered, but has no answer yet.
func (e ending) answered() bool { return e.Status == client.Completed || e.Status == client.Waiting }

// verdict returns the error with which a command ends after it has waited for an agent. The error has the code
// [exit.AgentFailed] if the agent is held, or has ended without an answer. The error has the code [exit.Limit] if a limit ended
// the turn or the answer. Otherwise, verdict returns nil.
func (e ending) verdict() error {
	switch {
	case !e.answered():
		return exit.Errorf(exit.AgentFailed, "agent %s %s: %s; %s", e.ID, statusText(e.Status), printable.Text(e.Failure), nextStep(e))
	case e.Stopped != "":
		return exit.Errorf(exit.Limit, "agent %s was stopped before its answer by limits.%s of its configuration; %s", e.ID, e.Stopped, e.pastLimit())
	case e.FinishReason != "":
		return exit.Errorf(exit.Limit, "the answer of agent %s may not be whole: the model ended it with the finish reason %s; raise max_output_tokens of the model, or ask the agent to go on",
			e.ID, printable.Name(e.FinishReason))
	}
	return nil
}

// pastLimit returns the last part of the error text for a turn that a limit has ended. This part tells the user how to go on
// with the agent.
func (e ending) pastLimit() string {
	raise := fmt.Sprintf("raise limits.%s, restart the worker, then ", e.Stopped)
	again := shellword.Starter("send", e.ID).Then("TEXT")
	if e.Status == client.Completed {
		again = shellword.Starter("fork", e.ID).With("--message TEXT")
	}
	switch {
	case e.Stopped == "model_calls" || e.Stopped == "time" || e.Status == client.Completed:
		return fmt.Sprintf("the limit starts again with the next message: go on with `%s`", again)
	default:
		return raise + fmt.Sprintf("`%s` and `%s`", shellword.Starter("reload", e.ID), again)
	}
}

// usageLine returns one line with the tokens and the cost of an agent. They include the sub-agents that have ended. The line
// ends with the given address of the agent's page in the Web UI, unless this address is empty.
func usageLine(u agent.Usage, link string) string {
	all := u.Spent()
	text := fmt.Sprintf("%d tokens in, %d out%s", all.InputTokens, all.OutputTokens, view.CostText(u))
	if link != "" {
		text += "  " + link
	}
	return text
}
