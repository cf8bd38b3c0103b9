package activities

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/protocol"
)

// running holds the effects in flight on this worker, by key. The zero value is ready for use. It is safe for concurrent use.
type running struct {
	mu      sync.Mutex
	effects map[agent.Key]*effect
}

// effect is one effect in flight. It may outlive the attempt that started it: if Temporal ends this attempt, the effect
// continues, and a later attempt joins it.
type effect struct {
	// ctx is the context of the effect. It does not end with the attempt that started the effect. The timeouts of tools and
	// models limit the effect.
	ctx    context.Context
	cancel context.CancelCauseFunc
	// first is the attempt that started the effect and runs it.
	first *heartbeat
	// done is closed when result and err are set.
	done   chan struct{}
	result any
	err    error

	mu sync.Mutex
	// waiting holds the attempts that wait for the effect and that Temporal has not ended, in the order in which they joined.
	waiting []*heartbeat
	// unwanted says that an attempt ended because the workflow cancelled it or the worker stops. The effect is cancelled as soon
	// as no attempt waits for it. The field cancelled says that this has happened.
	unwanted, cancelled bool
}

// once returns the result of the effect of an activity attempt. If the effect is in flight on this worker, once waits for it. If
// this worker has stored the result, once returns the stored result. Otherwise it calls run. It stores a result of run before it
// returns it, if keep returns true for the result.
//
// If the attempt ends while it waits for the effect of another attempt, once returns an error, and the effect continues or ends
// as leave says.
func once[T any](a *Activities, beat *heartbeat, keep func(T) bool, run func(*effect) (T, error)) (T, error) {
	_, key := names(beat.ctx)
	for {
		e, began := a.running.join(key, beat)
		if began {
			return begin(a, key, e, keep, run)
		}
		select {
		case <-e.done:
			if e.wasCancelled() {
				continue // the effect was cancelled before this attempt joined it, so start it again
			}
			result, ok := e.result.(T)
			if e.err == nil && !ok {
				return result, fmt.Errorf("the effect %s has a result of type %T", key, e.result)
			}
			return result, e.err
		case <-beat.over:
			e.leave(beat)
			var none T
			if beat.ended() == attemptCancelled {
				return none, temporal.NewCanceledError()
			}
			return none, temporal.NewApplicationError("interrupted: the effect continues without this attempt", protocol.Interrupted)
		}
	}
}

// begin runs an effect in the goroutine of the attempt that started it, or returns the stored result. It returns when the effect
// has ended, even if the attempt ended before. So a worker that is stopping waits for the effect.
func begin[T any](a *Activities, key agent.Key, e *effect, keep func(T) bool, run func(*effect) (T, error)) (result T, err error) {
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-e.first.over:
			e.leave(e.first)
		case <-e.done:
		}
	})
	err = errors.New("the effect panicked") // replaced when run returns
	defer func() {
		e.result, e.err = result, err
		a.running.end(key, e)
		e.cancel(nil)
		watch.Wait()
	}()
	if a.kept.get(key, &result) {
		return result, nil
	}
	if result, err = run(e); err == nil && keep(result) {
		a.kept.put(key, result)
	}
	return result, err
}

// join adds an attempt to the effect in flight with the given key. If there is none, join adds a new effect and began is true:
// the caller must run it.
func (r *running) join(key agent.Key, beat *heartbeat) (e *effect, began bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.effects[key]; e != nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.waiting = append(e.waiting, beat)
		beat.follow(e.first)
		return e, false
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(beat.ctx))
	e = &effect{ctx: ctx, cancel: cancel, first: beat, done: make(chan struct{}), waiting: []*heartbeat{beat}}
	beat.follow(nil)
	if r.effects == nil {
		r.effects = map[agent.Key]*effect{}
	}
	r.effects[key] = e
	return e, true
}

// runsHere reports whether the activity's effect is in flight on this worker, or its result is stored here. In both cases the
// attempt does not start the effect.
func (a *Activities) runsHere(ctx context.Context) bool {
	_, key := names(ctx)
	a.running.mu.Lock()
	defer a.running.mu.Unlock()
	return a.running.effects[key] != nil || a.kept.has(key)
}

// end removes an effect that has ended, and wakes the attempts that wait for it.
func (r *running) end(key agent.Key, e *effect) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.effects, key)
	close(e.done)
}

// leave removes an attempt that has ended from the effect. If no attempt waits for the effect any more, leave cancels the effect,
// provided that one of its attempts was cancelled or stopped. If all attempts were lost, the effect continues.
func (e *effect) leave(beat *heartbeat) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waiting = slices.DeleteFunc(e.waiting, func(h *heartbeat) bool { return h == beat })
	e.unwanted = e.unwanted || beat.ended() != attemptLost
	if !e.unwanted || len(e.waiting) > 0 {
		return
	}
	e.cancelled = true
	if beat.ended() == attemptStopped {
		e.cancel(context.Cause(beat.ctx))
	} else {
		e.cancel(temporal.NewCanceledError())
	}
}

// wasCancelled reports whether the effect was cancelled because no attempt waited for it.
func (e *effect) wasCancelled() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.cancelled
}

// confirm returns nil if Temporal still considers one of the effect's attempts alive. It is called immediately before the effect
// calls a model or a tool: after a suspension of the process, or a loss of the network, another worker may have run the effect
// already. The error is retryable.
func (e *effect) confirm() error {
	e.mu.Lock()
	waiting := slices.Clone(e.waiting)
	e.mu.Unlock()
	err := errors.New("Temporal has ended the attempt")
	for _, beat := range slices.Backward(waiting) {
		if err = beat.own(e.ctx); err == nil {
			return nil
		}
	}
	return temporal.NewApplicationErrorWithCause("not started: "+err.Error(), protocol.Unavailable, err)
}
