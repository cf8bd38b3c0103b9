package attempt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
)

// Operation is a model call or a tool call that this worker is making now. An operation may outlive the attempt that started it. If
// Temporal ends this attempt, the operation continues, and a later attempt waits for the result.
type Operation struct {
	// ctx does not end with the attempt that started the operation. It ends only when `cancel` is called. The timeouts of tools and
	// models limit the duration of the operation.
	ctx    context.Context
	cancel context.CancelCauseFunc
	// first is the attempt that started the operation and runs it.
	first *Attempt
	// done is closed when the operation has ended and its result is set.
	done chan struct{}
	// result is valid when `done` is closed.
	result any
	err    error

	mu sync.Mutex
	// waiting holds the attempts that wait for the operation and that Temporal has not ended. They are in the order in which
	// they joined.
	waiting []*Attempt
	// unwanted says that an attempt ended because the workflow cancelled it or because the worker is stopping. An unwanted
	// operation is cancelled as soon as no attempt waits for it. cancelled says that this has happened.
	unwanted, cancelled bool
}

// Once calls `run` to run an activity's operation, which is a model call or a tool call, and returns the result. It stores the
// result if `keep` returns true for it. This worker never runs the operation twice at the same time:
//   - If this worker has stored the result already, Once returns the stored result.
//   - If the operation is already running on this worker, Once waits for its result. If this attempt ends first, Once returns an
//     error, and [Operation.leave] decides whether the operation continues.
func Once[T any](w *Worker, beat *Attempt, keep func(T) bool, run func(*Operation) (T, error)) (T, error) {
	key := beat.Key()
	for {
		e, began := w.join(key, beat)
		if began {
			return begin(w, key, e, keep, run)
		}
		select {
		case <-e.done:
			if e.wasCancelled() {
				continue // the operation was cancelled before this attempt joined it, so start it again
			}
			result, ok := e.result.(T)
			if e.err == nil && !ok {
				return result, fmt.Errorf("the operation %s has a result of the type %T, because activities of two kinds have the same ID; give each activity an ID of its own", key, e.result)
			}
			return result, e.err
		case <-beat.over:
			e.leave(beat)
			var none T
			if beat.ended() == cancelled {
				return none, temporal.NewCanceledError()
			}
			return none, temporal.NewApplicationError("this attempt ended while it waited for the call, which another attempt runs; the next attempt waits for the same call", protocol.AttemptEnded)
		}
	}
}

// begin runs an operation that is not running on this worker yet, or returns its stored result. The functions `keep` and `run` are
// those of [Once]. The operation runs in the goroutine of the attempt that started it. begin returns when the operation has ended,
// even if Temporal has ended the attempt earlier, so that a worker that is stopping waits for the operation.
func begin[T any](w *Worker, key agent.Key, e *Operation, keep func(T) bool, run func(*Operation) (T, error)) (result T, err error) {
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-e.first.over:
			e.leave(e.first)
		case <-e.done:
		}
	})
	err = errors.New("the operation panicked; the failure of the attempt that ran the operation has the stack trace") // replaced when run returns
	defer func() {
		e.result, e.err = result, err
		w.end(key, e)
		e.cancel(nil)
		watch.Wait()
	}()
	if w.kept.get(e.ctx, key, &result) {
		return result, nil
	}
	if result, err = run(e); err == nil && keep(result) {
		w.kept.put(e.ctx, key, result)
	}
	return result, err
}

// join makes the attempt `beat` wait for the running operation with the given key. If no such operation is running, join adds a
// new one, and `began` is true. The caller must then run the operation.
func (w *Worker) join(key agent.Key, beat *Attempt) (e *Operation, began bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e := w.operations[key]; e != nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.waiting = append(e.waiting, beat)
		beat.follow(e.first)
		return e, false
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(beat.ctx))
	e = &Operation{ctx: ctx, cancel: cancel, first: beat, done: make(chan struct{}), waiting: []*Attempt{beat}}
	beat.follow(nil)
	w.operations[key] = e
	return e, true
}

// RunsHere reports whether this worker is already making the model call or tool call with the given key, or has stored its
// result. In both cases [Once] does not start the call again.
func (w *Worker) RunsHere(key agent.Key) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.operations[key] != nil || w.kept.has(key)
}

// end removes an operation whose result is set, and wakes the attempts that wait for it.
func (w *Worker) end(key agent.Key, e *Operation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.operations, key)
	close(e.done)
}

// Context returns the context for the model call or tool call. It does not end with the attempt that began the operation.
func (e *Operation) Context() context.Context { return e.ctx }

// Attempt returns the attempt that began the operation.
func (e *Operation) Attempt() *Attempt { return e.first }

// leave is for an attempt that ends while the operation is still running. The attempt then no longer waits for the operation.
//   - If other attempts still wait, the operation continues.
//   - If none waits and all attempts were lost, the operation continues, because a later attempt may need the result.
//   - If none waits, and the workflow cancelled one of them or the worker is stopping, leave cancels the operation.
func (e *Operation) leave(beat *Attempt) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waiting = slices.DeleteFunc(e.waiting, func(a *Attempt) bool { return a == beat })
	e.unwanted = e.unwanted || beat.ended() != lost
	if !e.unwanted || len(e.waiting) > 0 {
		return
	}
	e.cancelled = true
	if beat.ended() == stopped {
		e.cancel(context.Cause(beat.ctx))
	} else {
		e.cancel(temporal.NewCanceledError())
	}
}

func (e *Operation) wasCancelled() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.cancelled
}

// Confirm returns nil if this worker may make the model call or tool call now. Call it immediately before the call. At least one
// attempt must be alive (see [Attempt.own]): the one that makes the call, or a later one on this worker that waits for the
// result. If none is, Confirm returns a retryable error, because another worker may have made the call already, for example
// while this process was suspended.
func (e *Operation) Confirm() error {
	e.mu.Lock()
	waiting := slices.Clone(e.waiting)
	e.mu.Unlock()
	err := errors.New("each attempt of the activity on this worker was cancelled or lost, or the worker is stopping; if the operation is still needed, the next attempt starts it")
	for _, beat := range slices.Backward(waiting) {
		if err = beat.own(e.ctx); err == nil {
			return nil
		}
	}
	return temporal.NewApplicationErrorWithCause("the operation was not started: "+err.Error(), protocol.Unavailable, err)
}
