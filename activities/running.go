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

// running holds the effects in flight on this worker, by key. It is safe for concurrent use.
type running struct {
	mu      sync.Mutex
	effects map[agent.Key]*effect
}

// effect is one effect in flight. Attempts at it come and go: one that Temporal has given up leaves the effect running,
// and a later one joins it.
type effect struct {
	// ctx is the effect's. It outlives the attempt that began the effect; what bounds it are the timeouts of
	// tools and models.
	ctx    context.Context
	cancel context.CancelCauseFunc
	// first is the attempt that runs the effect.
	first *heartbeat
	// done is closed when result and err are set.
	done   chan struct{}
	result any
	err    error

	mu sync.Mutex
	// waiting are the attempts that Temporal has not given up, in the order in which they came.
	waiting []*heartbeat
	// unwanted says that an attempt was cancelled: the effect is, too, when no other attempt waits for it.
	unwanted, cancelled bool
}

// once returns the result of the effect that an attempt is for: the one that this worker keeps, or that of the
// effect in flight, or else that of run. A result of run is kept before it is returned, unless keep says no.
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
				continue // before this attempt came
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
			return none, temporal.NewApplicationError("interrupted: the effect goes on without this attempt", protocol.Interrupted)
		}
	}
}

// begin runs an effect in the goroutine of the attempt that began it. It returns when the effect has ended, even
// if the attempt is lost, so that a worker that drains waits for it.
func begin[T any](a *Activities, key agent.Key, e *effect, keep func(T) bool, run func(*effect) (T, error)) (result T, err error) {
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-e.first.over:
			e.leave(e.first)
		case <-e.done:
		}
	})
	err = errors.New("the effect panicked") // unless it returns
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

// join adds an attempt to the effect in flight, or begins one.
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

// runsHere reports whether this worker runs the effect of the activity, or has its result: nothing of the effect is begun then.
func (a *Activities) runsHere(ctx context.Context) bool {
	_, key := names(ctx)
	a.running.mu.Lock()
	defer a.running.mu.Unlock()
	return a.running.effects[key] != nil || a.kept.has(key)
}

// end takes an effect out that has ended.
func (r *running) end(key agent.Key, e *effect) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.effects, key)
	close(e.done)
}

// leave takes an attempt out that has ended. An effect that the workflow does not want any more is cancelled when no
// attempt waits for it; one whose attempts are lost runs on.
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

// confirm returns nil if Temporal still waits for one of the attempts. It comes right before the effect reaches the
// outside world: a worker that was frozen, or cut off from Temporal, must not do what another worker has done meanwhile.
func (e *effect) confirm() error {
	e.mu.Lock()
	waiting := slices.Clone(e.waiting)
	e.mu.Unlock()
	err := errors.New("the attempt was given up by Temporal")
	for _, beat := range slices.Backward(waiting) {
		if err = beat.own(e.ctx); err == nil {
			return nil
		}
	}
	return temporal.NewApplicationErrorWithCause("not begun: "+err.Error(), protocol.Unavailable, err)
}
