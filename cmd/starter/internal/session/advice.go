package session

import (
	"context"
	"errors"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
	"github.com/reagent-dev/reagent/cmd/starter/internal/progress"
	"github.com/reagent-dev/reagent/internal/shellword"
)

// WithExitCode adds an exit code to an error of package client and, in most cases, what the user can do next. It returns nil, an error
// that has a code, and an error that it does not know unchanged. For [client.ErrNoWorker], the text names the given task queue.
func WithExitCode(err error, queue string) error {
	var closed *client.ClosedError
	switch {
	case err == nil, errors.As(err, new(*exit.Error)):
		return err
	case errors.Is(err, client.ErrNotFound):
		return exit.Errorf(exit.WrongState, "%w: `%s` shows the agents; after its end, Temporal keeps an agent only for the namespace's retention", err, shellword.Starter("list"))
	case errors.As(err, &closed):
		return exit.Errorf(exit.WrongState, "%w: %s", err, GoOnFrom(closed.ID, closed.Status))
	case errors.Is(err, client.ErrRunning):
		return exit.Errorf(exit.WrongState, "%w: end it first with `starter cancel`, or let it finish with `starter close`", err)
	case errors.Is(err, client.ErrNoNamespace):
		return exit.Errorf(exit.Unreachable, "%w: name another namespace with --namespace or TEMPORAL_NAMESPACE, or create it with `temporal operator namespace create --namespace NAME`", err)
	case errors.Is(err, client.ErrNoServer):
		return exit.Errorf(exit.Unreachable, "%w; check that Temporal runs, and the address: --address or TEMPORAL_ADDRESS", err)
	case errors.Is(err, client.ErrNoWorker):
		return exit.Errorf(exit.Unreachable, "%w on task queue %q: start a worker with `%s`", err, queue, progress.StartWorker)
	case errors.Is(err, client.ErrRefused):
		return exit.Errorf(exit.WrongState, "%w", err)
	case errors.Is(err, agent.ErrMessage), errors.Is(err, client.ErrInvalid):
		return exit.Errorf(exit.Usage, "%w", err)
	}
	return err
}

// GoesOn returns the error of a command that has waited for an agent. If ctx has ended, the user has interrupted the command: an error
// then says that the agent goes on, and how to follow or end the agent. If ctx has not ended, or err is nil, GoesOn returns err.
func GoesOn(ctx context.Context, err error, id string) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	return exit.Errorf(exit.Interrupted, "interrupted; agent %s goes on: follow it with `%s`, end it with `%s`", id, shellword.Starter("tail", id), shellword.Starter("cancel", id))
}

// GoOnFrom returns the last part of an error text about an agent that has ended. It names two commands: one that shows the agent, and
// one that goes on from its last state.
func GoOnFrom(id string, status client.Status) exit.Advice {
	show := shellword.Starter("show", id)
	if status == client.Completed {
		return exit.Advisef("see what it did with `%s`; go on from its answer in a new agent with `%s`", show, shellword.Starter("fork", id).With("--message TEXT"))
	}
	return exit.Advisef("see what it did with `%s`; let it go on with `%s`", show, shellword.Starter("resume", id))
}
