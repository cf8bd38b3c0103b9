package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
)

// costs has the measured costs of one turn in milliseconds: `time` is the wall time, `worker` is the CPU time of the worker, and
// `server` is the CPU time of the server. Each field has one list for each [contestant]. A list has one value for each round.
type costs struct{ time, worker, server [len(contestants)][]float64 }

// turns measures what one turn costs: the time, the CPU time and the size of the history. In each round, it runs one workflow
// of each [contestant], one after the other. Each workflow makes the given number of turns.
func (l *lab) turns(ctx context.Context, turns, rounds int) error {
	progressf("%d turns, %d rounds of each", turns, rounds)
	var c costs
	var events, bytes [len(contestants)]float64
	per := float64(turns)
	for round := range rounds {
		for i := range contestants {
			who := contestants[(i+round)%len(contestants)] // the contestants take turns to go first
			before, worker, server := time.Now(), workerCPU(), serverCPU(l.server.PID())
			run, err := l.start(ctx, who, turns)
			if err == nil {
				err = finish(ctx, run)
			}
			if err != nil {
				return err
			}
			c.time[who] = append(c.time[who], time.Since(before).Seconds()*1000/per)
			c.worker[who] = append(c.worker[who], (workerCPU()-worker).Seconds()*1000/per)
			c.server[who] = append(c.server[who], (serverCPU(l.server.PID())-server).Seconds()*1000/per)
			e, b, err := l.history(ctx, run.GetID())
			if err != nil {
				return err
			}
			events[who], bytes[who] = e/per, b/per
		}
	}
	name := func(what string) string { return fmt.Sprintf("%s a turn, %d turns", what, turns) }
	l.report.compare(name("ms"), "%.1f", medians(c.time), 1.4)
	l.report.compare(name("worker CPU ms"), "%.2f", medians(c.worker), 1.2)
	l.report.compare(name("server CPU ms"), "%.2f", medians(c.server), 1.15)
	l.report.compare(name("history events"), "%.1f", events, 1.15)
	l.report.compare(name("history bytes"), "%.0f", bytes, 1.15)
	switch turns {
	case 50:
		l.report.early = bytes[reagent]
	case 200, 500:
		l.report.steady(fmt.Sprintf("bytes a turn against 50 turns, %d turns", turns), bytes[reagent])
	}
	return nil
}

// history returns the number of events and the number of bytes in the histories of a workflow. It counts the newest run and
// all runs that this run continues.
func (l *lab) history(ctx context.Context, id string) (events, bytes float64, err error) {
	for run := ""; ; {
		found, err := l.temporal.DescribeWorkflowExecution(ctx, id, run)
		if err != nil {
			return 0, 0, err
		}
		info := found.GetWorkflowExecutionInfo()
		events += float64(info.GetHistoryLength())
		bytes += float64(info.GetHistorySizeBytes())
		first, err := l.temporal.GetWorkflowHistory(ctx, id, info.GetExecution().GetRunId(), false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT).Next()
		if err != nil {
			return 0, 0, err
		}
		if run = first.GetWorkflowExecutionStartedEventAttributes().GetContinuedExecutionRunId(); run == "" {
			return events, bytes, nil
		}
	}
}

// crowd measures the number of turns per second while many workflows run at the same time. `agents` is the number of
// workflows. In each round, crowd measures both [contestants], one after the other.
func (l *lab) crowd(ctx context.Context, agents, turns, rounds int) error {
	progressf("%d agents at once", agents)
	var rate [len(contestants)][]float64
	for round := range rounds {
		for i := range contestants {
			who := contestants[(i+round)%len(contestants)]
			before := time.Now()
			var all sync.WaitGroup
			failed := make(chan error, agents)
			for range agents {
				run, err := l.start(ctx, who, turns)
				if err != nil {
					return err
				}
				all.Go(func() { failed <- finish(ctx, run) })
			}
			all.Wait()
			for range agents {
				if err := <-failed; err != nil {
					return err
				}
			}
			rate[who] = append(rate[who], float64(agents*turns)/time.Since(before).Seconds())
		}
	}
	m := medians(rate)
	l.report.compare(fmt.Sprintf("turns a second, %d agents at once", agents), "%.0f", m, 0)
	return nil
}
