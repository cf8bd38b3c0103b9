package reagenttest

import (
	"errors"
	"fmt"
	"time"
)

func (e *environment) loop(w any, args []any) {
	defer func() {
		var failed error
		if r := recover(); r != nil {
			failed = fmt.Errorf("the test environment has stopped: %v", r)
		}
		e.mu.Lock()
		e.over, e.held, e.failed = true, false, failed
		e.mu.Unlock()
		e.drain()
		if e.reached != nil {
			e.reached <- failed
			e.reached = nil
		}
		close(e.done)
	}()
	e.env.ExecuteWorkflow(w, args...)
}

// do calls a function in the loop, and waits until it has returned.
func (e *environment) do(f func()) {
	done := make(chan struct{})
	e.mu.Lock()
	e.queue = append(e.queue, func() { f(); close(done) })
	post := !e.held && !e.over
	e.mu.Unlock()
	select {
	case e.wake <- struct{}{}:
	default:
	}
	if post {
		e.env.RegisterDelayedCallback(e.drain, 0)
	}
	<-done
}

// drain calls the functions of [environment.do].
func (e *environment) drain() {
	for {
		e.mu.Lock()
		queue := e.queue
		e.queue = nil
		e.mu.Unlock()
		if len(queue) == 0 {
			return
		}
		for _, f := range queue {
			f()
		}
	}
}

// activityEnded is called in the loop when an activity has ended.
func (e *environment) activityEnded() {
	e.calling--
	e.arm()
}

// arm lets [environment.idle] be called as soon as nothing is to be done. It must be called in the loop.
func (e *environment) arm() {
	if !e.armed {
		e.armed = true
		e.env.RegisterDelayedCallback(e.idle, time.Nanosecond)
	}
}

// idle holds the loop until the test acts, unless the test waits for something that has not happened. Then time passes.
func (e *environment) idle() {
	e.armed = false
	if e.until != nil {
		reached, err := e.until()
		if errors.Is(err, errNotBegun) || !reached && err == nil {
			return
		}
		e.reached <- err
		e.until, e.reached = nil, nil
	}
	if e.calling > 0 {
		return
	}
	e.mu.Lock()
	e.held = true
	e.mu.Unlock()
	for {
		e.drain()
		e.mu.Lock()
		held := e.held
		e.mu.Unlock()
		if !held {
			return
		}
		<-e.wake
	}
}

// release lets the loop go on until a condition holds. It must be called in the loop.
func (e *environment) release(until func() (bool, error), reached chan error) {
	e.mu.Lock()
	over := e.over
	e.held = false
	e.mu.Unlock()
	if over {
		_, err := until()
		reached <- err
		return
	}
	e.until, e.reached = until, reached
	e.arm()
}

// await calls a function in the loop, and waits until the condition holds.
func (e *environment) await(first func(), until func() (bool, error)) error {
	reached := make(chan error, 1)
	e.do(func() {
		first()
		e.release(until, reached)
	})
	select {
	case err := <-reached:
		return errors.Join(err, e.failure())
	case <-time.After(patience):
		return notSettled(patience, e.agents.attempts.text(), nil)
	}
}

func (e *environment) failure() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.failed
}

func (e *environment) isOver() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.over
}
