package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/printable"
)

// following says how a command shows an agent that it has let go on.
type following struct {
	detach, json, quiet bool
	// limit is the time that it waits for a worker; 0 means without end.
	limit time.Duration
	// link is the agent's page in the Web UI; empty where it is not known.
	link string
}

func (f *following) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.detach, "detach", false, "return when the agent goes on, and print its ID")
	flags.BoolVar(&f.json, "json", false, "print the agent as JSON, as show --json does, when it has answered")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print the answer alone")
	cmd.MarkFlagsMutuallyExclusive("json", "quiet")
	addWait(cmd, &f.limit, 0)
}

// show shows an agent's messages as they come, until it has answered or ended.
func (f following) show(cmd *cobra.Command, c *client.Client, queue string, started client.Started) error {
	ctx, stdout, stderr := cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	if f.detach {
		if f.json {
			return printJSON(stdout, map[string]any{"id": started.ID, "found": started.Found})
		}
		_, err := fmt.Fprintln(stdout, started.ID)
		return err
	}
	plain := !f.json && !f.quiet
	words := newPreview(stdout, plain)
	defer words.end()
	show := newTranscriptPrinter(words.beside(stdout))
	if !plain {
		show = newTranscriptPrinter(io.Discard)
	}
	wait := newWaitNotice(words.beside(stderr), queue, f.limit)
	wait.id, wait.live = started.ID, words
	defer wait.stop()
	status, err := follow(ctx, c, started.ID, f.limit, func(p client.Progress) {
		wait.update(p)
		if p.Message != nil {
			show.message(*p.Message)
		}
	})
	words.end()
	if err != nil {
		return goesOn(ctx, unanswered(err, wait, "agent "+started.ID+" goes on when one is up"), started.ID)
	}
	end, err := endOf(ctx, c, started.ID, status)
	if err != nil {
		return goesOn(ctx, withExitCode(err, queue), started.ID)
	}
	switch {
	case f.json:
		full, err := c.Show(ctx, started.ID)
		if err != nil {
			return withExitCode(err, queue)
		}
		if err := printJSON(stdout, view(full)); err != nil {
			return err
		}
	case f.quiet && end.answered():
		fmt.Fprintln(stdout, printable.Text(end.Answer))
	case plain:
		fmt.Fprintln(stderr, usageLine(end.Usage, f.link))
	}
	return end.verdict()
}

// follow tells see of an agent's messages until it has nothing to do or has ended. It gives up with [client.ErrNoWorker] where
// no worker has answered for limit; 0 means without end.
func follow(ctx context.Context, c *client.Client, id string, limit time.Duration, see func(client.Progress)) (client.Status, error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	answered := func() {}
	if limit > 0 {
		timer := time.AfterFunc(limit, func() { end(client.ErrNoWorker) })
		defer timer.Stop()
		answered = func() { timer.Reset(limit) }
	}
	for p, err := range c.Watch(ctx, id, 0) {
		if err != nil {
			return "", err
		}
		if !p.NoWorker {
			answered()
		}
		see(p)
		if p.Status != "" && p.Status != client.Running {
			return p.Status, nil
		}
	}
	return "", context.Cause(ctx)
}

// ending describes the end of an agent's turn.
type ending struct {
	ID      string
	Status  client.Status
	Answer  string
	Stopped string // the limit that ended the turn
	Failure string
	Class   string
	Usage   agent.Usage
}

// endOf reads how an agent's turn has ended. It needs no worker.
func endOf(ctx context.Context, c *client.Client, id string, status client.Status) (ending, error) {
	snap, err := c.Read(ctx, id)
	return ending{ID: id, Status: status, Answer: snap.Answer, Stopped: snap.Stopped, Failure: snap.Failure, Class: snap.Class, Usage: snap.Usage}, err
}

// answered reports whether the agent has said something that ends its turn, if only that it has reached a limit.
func (e ending) answered() bool { return e.Status == client.Completed || e.Status == client.Waiting }

// verdict returns an error with an exit code for a turn that did not come to its answer.
func (e ending) verdict() error {
	switch {
	case !e.answered():
		return exitf(exitAgentFailed, "agent %s %s: %s; %s", e.ID, statusText(e.Status), printable.Text(e.Failure), nextStep(e))
	case e.Stopped != "":
		return exitf(exitLimit, "agent %s was stopped before its answer by limits.%s of its configuration; %s", e.ID, e.Stopped, e.pastLimit())
	}
	return nil
}

// pastLimit says what a person can do about an agent that a limit has stopped.
func (e ending) pastLimit() string {
	raise := fmt.Sprintf("raise limits.%s, restart the worker, then ", e.Stopped)
	again := fmt.Sprintf("`starter send %s TEXT`", e.ID)
	if e.Status == client.Completed {
		again = fmt.Sprintf("`starter fork %s --message TEXT`", e.ID)
	}
	switch {
	case e.Stopped == "model_calls" || e.Stopped == "time" || e.Status == client.Completed:
		return "it counts anew from the next message: go on with " + again
	default:
		return raise + fmt.Sprintf("`starter reload %s` and %s", e.ID, again)
	}
}

// usageLine tells what an agent and its sub-agents have used, and where to look at it.
func usageLine(u agent.Usage, link string) string {
	all := agent.Spending{Usage: u.Usage, Cost: u.Cost}.Add(u.Descendants)
	text := fmt.Sprintf("%d tokens in, %d out%s", all.InputTokens, all.OutputTokens, costText(u))
	if link != "" {
		text += "  " + link
	}
	return text
}
