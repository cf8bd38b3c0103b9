package main

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/reagent-dev/reagent/internal/protocol"
)

// long measures one agent with the given number of turns. The agent summarises its conversation many times. It also moves to
// a new Temporal run many times. Each run has its own history. long measures the time of a turn, the size of the histories,
// and the heap of this process, in which the worker runs. If the number of turns is 0, long does nothing.
func (l *lab) long(ctx context.Context, turns int) error {
	if turns == 0 {
		return nil
	}
	progressf("one agent of %d turns", turns)
	before := heap()
	began := time.Now()
	options := client.StartWorkflowOptions{ID: "bench-long", TaskQueue: queue}
	run, err := l.temporal.ExecuteWorkflow(ctx, options, protocol.AgentWorkflow, task("long", options.ID, turns))
	if err != nil {
		return err
	}
	highest, done := watchHeap()
	var result protocol.Result
	err = run.Get(ctx, &result)
	done()
	if err == nil && result.Answer != lastAnswer {
		err = fmt.Errorf("%s ended before its last turn: %s", run.GetID(), result.Answer)
	}
	if err != nil {
		return err
	}
	took := time.Since(began)
	events, bytes, err := l.history(ctx, run.GetID())
	if err != nil {
		return err
	}
	per := float64(turns)
	name := func(what string) string { return fmt.Sprintf("%s, one agent of %d turns", what, turns) }
	l.report.note(name("tokens of context, summaries"), fmt.Sprintf("%d, %d", window, result.Usage.Compactions))
	l.report.note(name("ms a turn"), fmt.Sprintf("%.1f", took.Seconds()*1000/per))
	l.report.note(name("history events a turn"), fmt.Sprintf("%.1f", events/per))
	l.report.note(name("history bytes a turn"), fmt.Sprintf("%.0f", bytes/per))
	l.report.steady(name("bytes a turn against 50 turns"), bytes/per)
	l.report.note(name("heap before, highest, after"), fmt.Sprintf("%.0f, %.0f, %.0f MB", before, float64(highest.Load())/1e6, heap()))
	return nil
}

// heap collects garbage and then returns the size of all objects on the heap, in MB.
func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / 1e6
}

// watchHeap measures the size of the heap ten times a second. `highest` is the largest size so far, in bytes, including
// objects that are not collected yet. The function `done` ends the measurement.
func watchHeap() (highest *atomic.Uint64, done func()) {
	highest = new(atomic.Uint64)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for tick := time.Tick(100 * time.Millisecond); ; {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			highest.Store(max(highest.Load(), m.HeapAlloc))
			select {
			case <-tick:
			case <-stop:
				return
			}
		}
	}()
	return highest, func() { close(stop); <-stopped }
}
