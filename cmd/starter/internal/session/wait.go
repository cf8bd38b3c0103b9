package session

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
	"github.com/reagent-dev/reagent/cmd/starter/internal/progress"
	"github.com/reagent-dev/reagent/internal/app/usage"
	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/internal/shellword"
)

// DefaultWait is the default of the flag `--wait` for commands that need a worker only for a moment.
const DefaultWait = time.Minute

// AddWait adds the flag `--wait` to a command. The flag says how long the command waits for a worker; 0 means no limit. The
// value of the flag is stored in `*limit`. Its default is `defaultLimit`.
func AddWait(cmd *cobra.Command, limit *time.Duration, defaultLimit time.Duration) {
	*limit = defaultLimit
	cmd.Flags().Var((*waitValue)(limit), "wait", "how long to wait for a worker to answer, such as 30s or 5m; 0 means no limit")
}

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

// Within returns a context that ends when the time `limit` has passed; 0 means no limit. [context.Cause] then returns
// [context.DeadlineExceeded]. The function `lift` removes the limit. It has no effect after the time has passed. The function
// `cancel` ends the context. The caller must call `cancel`.
func Within(ctx context.Context, limit time.Duration) (_ context.Context, lift, cancel func()) {
	ctx, end := context.WithCancelCause(ctx)
	if limit == 0 {
		return ctx, func() {}, func() { end(nil) }
	}
	timer := time.AfterFunc(limit, func() { end(context.DeadlineExceeded) })
	return ctx, func() { timer.Stop() }, func() { timer.Stop(); end(nil) }
}

// Reach waits until a worker answers for an agent. It returns a snapshot of the agent, as [client.Agent.Describe] does. If the
// time `wait.Limit` passes first, the error is [client.ErrNoWorker], or [client.ErrNoServer] if Temporal does not answer.
// During a long wait, `wait` informs the user.
func Reach(ctx context.Context, a *client.Agent, wait *progress.Notice) (client.Snapshot, error) {
	ctx, _, cancel := Within(ctx, wait.Limit)
	defer cancel()
	snap, err := a.Await(ctx, wait.Update)
	if err == nil {
		wait.Over()
	}
	return snap, err
}

// Unanswered prepares the error of a command that needs a worker. For [client.ErrNoWorker], the new error text says how long
// the command has waited and how to start a worker. The text also contains `effect`, which says what the command has done,
// such as "nothing was changed". For other errors, the result is that of [WithExitCode].
func Unanswered(err error, wait *progress.Notice, effect string) error {
	if !errors.Is(err, client.ErrNoWorker) {
		return WithExitCode(err, wait.Queue)
	}
	if r := wait.Unserved(); r != nil {
		return exit.Errorf(exit.Unreachable, "%s. No other worker has taken the work for %s; %s: correct the worker's configuration, end the agent with `%s`, or wait longer with --wait",
			printable.Line(r.Message, 500), wait.Limit, effect, shellword.Starter("cancel", wait.ID))
	}
	return exit.Errorf(exit.Unreachable, "no worker has answered on task queue %q for %s; %s: start a worker with `%s`, or wait longer with --wait",
		wait.Queue, wait.Limit, effect, progress.StartWorker)
}

// Changing completes a command that changes a running agent, whose ID is its only argument. The command waits for a worker as its flag
// --wait says, and then calls `do`: see [Change].
func Changing(
	g *Flags, cmd *cobra.Command, do func(ctx context.Context, cmd *cobra.Command, c *client.Client, id string, accepted func()) error,
) *cobra.Command {
	var limit time.Duration
	AddWait(cmd, &limit, DefaultWait)
	cmd.Args = usage.OneID
	cmd.ValidArgsFunction = g.CompleteIDs(1, client.Running)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return Change(cmd, g, args[0], limit, func(ctx context.Context, c *client.Client, accepted func()) error {
			return do(ctx, cmd, c, args[0], accepted)
		})
	}
	return cmd
}

// Change runs a command that changes an agent with the help of a worker. It waits until a worker answers for the agent. Then
// it calls the function `do`, which changes the agent. The wait may take the time `limit`, and `do` may take the same time
// again; 0 means no limit. When the agent has accepted the change, `do` may call the function `accepted`. The rest of the
// change then has no time limit.
func Change(cmd *cobra.Command, g *Flags, id string, limit time.Duration, do func(ctx context.Context, c *client.Client, accepted func()) error) error {
	ctx := cmd.Context()
	c, queue, done, err := g.AgentsOf(ctx, id)
	if err != nil {
		return err
	}
	defer done()
	wait := progress.NewNotice(cmd.ErrOrStderr(), queue, limit)
	defer wait.Stop()
	if _, err := Reach(ctx, c.Agent(id), wait); err != nil {
		return Unanswered(err, wait, "nothing was changed")
	}
	bounded, lift, cancel := Within(ctx, limit)
	defer cancel()
	return Unanswered(do(bounded, c, lift), wait, "it is not known whether the agent has received the command; you can repeat the command safely")
}
