package client

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/internal/protocol"
)

// The errors of this package. Compare with [errors.Is], because other errors wrap these errors.
var (
	// ErrNotFound says that no agent has the given ID. Temporal deletes ended agents at the end of the namespace's retention
	// period.
	ErrNotFound = errors.New("no such agent")
	// ErrClosed says that the agent has ended and takes no messages or other requests.
	ErrClosed = errors.New("the agent has ended")
	// ErrNoWorker says that no worker answers for the agent, usually because no worker runs on the agent's task queue.
	ErrNoWorker = errors.New("no worker answers")
	// ErrNoServer says that Temporal itself does not answer.
	ErrNoServer = errors.New("no answer from Temporal")
	// ErrNoNamespace says that the namespace of the Temporal client does not exist.
	ErrNoNamespace = errors.New("no such namespace")
	// ErrRefused says that the agent refused a message or another request, such as a decision. The text of the error that wraps
	// ErrRefused gives the reason.
	ErrRefused = errors.New("the agent refused the message")
	// ErrInvalid says that an ID, a message or another input of a method is invalid, so that nothing was sent. The text of the error that
	// wraps ErrInvalid names the field. If the message is invalid, the error also wraps [agent.ErrMessage].
	ErrInvalid = errors.New("invalid input")
	// ErrUnknownAgent says that an agent failed because no worker has its definition: see [UnknownAgent].
	ErrUnknownAgent = errors.New("no worker has the definition of the agent")
)

// wrap converts an error of the Temporal client into an error of this package, such as [ErrNotFound] or [ErrNoWorker]. If no
// error of this package fits, the result wraps err and names the operation and the agent. If err is nil, wrap returns nil.
func wrap(operation, id string, err error) error {
	refused, _ := errors.AsType[*temporal.ApplicationError](err)
	switch {
	case err == nil:
		return nil
	case errors.As(err, new(*serviceerror.NotFound)):
		return notFoundError(id, "")
	case refused != nil && refused.Type() == protocol.Refused:
		return &agentError{fmt.Sprintf("agent %q refused: %s", id, failureText(refused.Message())), []error{ErrRefused}}
	case outOfTime(err), errors.As(err, new(*serviceerror.FailedPrecondition)): // no worker asks for tasks
		return &agentError{fmt.Sprintf("no worker answers for agent %q", id), []error{ErrNoWorker, err}}
	}
	return served(fmt.Sprintf("%s agent %q", operation, id), err)
}

func outOfTime(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, new(*serviceerror.DeadlineExceeded))
}

// wrapUnanswered is [wrap] for operations that need a worker. If wrap returns [ErrNoWorker], wrapUnanswered sends a health check,
// because Temporal itself may not answer. If the check fails, the result wraps [ErrNoServer] instead.
func (c *Client) wrapUnanswered(ctx context.Context, operation, id string, err error) error {
	wrapped := wrap(operation, id, err)
	if errors.Is(wrapped, ErrNoWorker) && c.temporalIsDown(context.WithoutCancel(ctx)) {
		return fmt.Errorf("%w: %w", ErrNoServer, err)
	}
	return wrapped
}

// served is [wrap] for operations that Temporal performs without a worker, so it never returns [ErrNoWorker].
// `operation` is the beginning of the error text, such as "list agents". err must not be nil.
func served(operation string, err error) error {
	if namespace, ok := errors.AsType[*serviceerror.NamespaceNotFound](err); ok {
		return &agentError{fmt.Sprintf("Temporal has no namespace %q", namespace.Namespace), []error{ErrNoNamespace}}
	}
	if unavailable(err) {
		return fmt.Errorf("%w: %w", ErrNoServer, err)
	}
	if unread := encoded(operation, err); unread != nil {
		return unread
	}
	return fmt.Errorf("%s: %w", operation, err)
}

// agentError is an error that does not repeat the texts of the errors that it wraps, as an error of fmt.Errorf would.
type agentError struct {
	text string
	// errs are an error of this package, such as [ErrNotFound], and the cause if there is one.
	errs []error
}

func (e *agentError) Error() string { return e.text }

func (e *agentError) Unwrap() []error { return e.errs }

// invalid returns err as an error that wraps [ErrInvalid]; nil for nil.
func invalid(err error) error {
	if err == nil {
		return nil
	}
	return &agentError{err.Error(), []error{ErrInvalid, err}}
}

// notFoundError returns an error that names the ID and wraps [ErrNotFound]. `why` is the end of the error text: nothing, or a
// colon and a reason.
func notFoundError(id, why string) error {
	return &agentError{fmt.Sprintf("there is no agent with ID %q%s", id, why), []error{ErrNotFound}}
}
