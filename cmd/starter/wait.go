package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/client"
)

const (
	// startWorker is the command that error texts recommend to start a worker.
	startWorker = "go run ./cmd/worker --config agents.yaml"
	// defaultWait is the default of --wait for commands that need a worker only for a moment.
	defaultWait = time.Minute
)

// addWait adds the flag --wait to a command that needs a worker. The flag sets *limit, which is preset to defaultLimit; 0 means no
// limit.
func addWait(cmd *cobra.Command, limit *time.Duration, defaultLimit time.Duration) {
	*limit = defaultLimit
	cmd.Flags().Var((*waitValue)(limit), "wait", "how long to wait for a worker to answer, as `duration`; 0 waits without end")
}

// waitValue is a flag value for a duration that is not negative.
type waitValue time.Duration

func (v *waitValue) String() string {
	if *v == 0 {
		return "0"
	}
	return time.Duration(*v).String()
}

func (v *waitValue) Type() string { return "duration" }

func (v *waitValue) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return errors.New("write a duration that is not negative, such as 30s or 5m")
	}
	*v = waitValue(d)
	return nil
}

// within returns a context that ends after the time limit, with [context.DeadlineExceeded] as its cause. A limit of 0 means
// that there is no limit. The result lift is a function that removes the limit; it has no effect after the limit has
// passed. The result cancel is a function that ends the context; the caller must call it.
func within(ctx context.Context, limit time.Duration) (_ context.Context, lift, cancel func()) {
	ctx, end := context.WithCancelCause(ctx)
	if limit == 0 {
		return ctx, func() {}, func() { end(nil) }
	}
	timer := time.AfterFunc(limit, func() { end(context.DeadlineExceeded) })
	return ctx, func() { timer.Stop() }, func() { timer.Stop(); end(nil) }
}

// reach waits until a worker answers for an agent, and returns the snapshot of [client.Client.Look]. It waits for
// at most wait.limit; after this time the error is [client.ErrNoWorker], or [client.ErrNoServer] if Temporal does not answer.
// During a long wait, the waitNotice informs the user.
func reach(ctx context.Context, c *client.Client, id string, wait *waitNotice) (client.Snapshot, error) {
	ctx, _, cancel := within(ctx, wait.limit)
	defer cancel()
	snap, err := c.Await(ctx, id, wait.update)
	if err == nil {
		wait.over()
	}
	return snap, err
}

// unanswered returns the error that a command shows to the user. If err says that no worker has answered, the new error text
// says how long the command has waited and how to start a worker. The text contains the parameter effect, a clause about the
// effect of the command, such as "nothing was changed". Other errors get their exit code and next step from withExitCode.
func unanswered(err error, wait *waitNotice, effect string) error {
	if !errors.Is(err, client.ErrNoWorker) {
		return withExitCode(err, wait.queue)
	}
	return exitf(exitUnreachable, "no worker has answered on task queue %q for %s; %s: start a worker with `%s`, or wait longer with --wait",
		wait.queue, wait.limit, effect, startWorker)
}

// change waits until a worker answers for an agent, and then calls the function do, which changes the agent. The parameter
// limit is the longest time for the wait, and again for the call of do; 0 means no limit. When the agent has accepted the
// change, do must call the function accepted, which removes the limit for the rest of do.
func change(cmd *cobra.Command, g *globals, id string, limit time.Duration, do func(ctx context.Context, c *client.Client, accepted func()) error) error {
	ctx := cmd.Context()
	c, queue, done, err := g.agentsOf(ctx, id)
	if err != nil {
		return err
	}
	defer done()
	wait := newWaitNotice(cmd.ErrOrStderr(), queue, limit)
	defer wait.stop()
	if _, err := reach(ctx, c, id, wait); err != nil {
		return unanswered(err, wait, "nothing was changed")
	}
	bounded, lift, cancel := within(ctx, limit)
	defer cancel()
	return unanswered(do(bounded, c, lift), wait, "it is not known whether the agent has received the command; you can repeat the command safely")
}

// goesOn returns the error of a command that waits for an agent. If err is not nil and ctx has ended, the user has interrupted
// the command. The error then says that the agent goes on, and how to follow or end it. Otherwise goesOn returns err.
func goesOn(ctx context.Context, err error, id string) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	return exitf(exitInterrupted, "interrupted; agent %s goes on: follow it with `starter tail %s`, end it with `starter cancel %s`", id, id, id)
}

// goOnFrom returns a text with the commands that the user can give for an agent that has ended.
func goOnFrom(id string, status client.Status) string {
	if status == client.Completed {
		return fmt.Sprintf("see what it did with `starter show %s`; go on from its answer in a new agent with `starter fork %s --message TEXT`", id, id)
	}
	return fmt.Sprintf("see what it did with `starter show %s`; let it go on with `starter resume %s`", id, id)
}
