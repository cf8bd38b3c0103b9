package main

import (
	"context"
	"fmt"
	"runtime"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/workflows"
)

// replay measures how much CPU time a worker takes to replay the whole history of a workflow with the given number of turns. The worker
// does not have the workflow in its cache. replay measures an agent and [ByHand] alternately, each of them `rounds` times.
func (l *lab) replay(ctx context.Context, turns, rounds int) error {
	progressf("cold replay")
	var histories [len(contestants)]*historypb.History
	var options [len(contestants)]worker.ReplayWorkflowHistoryOptions
	for _, who := range contestants {
		run, err := l.start(ctx, who, turns)
		if err == nil {
			err = finish(ctx, run)
		}
		if err != nil {
			return err
		}
		// The keys of an agent depend on its ID, so a replay needs the original ID.
		options[who].OriginalExecution = workflow.Execution{ID: run.GetID(), RunID: run.GetRunID()}
		histories[who] = new(historypb.History)
		events := l.temporal.GetWorkflowHistory(ctx, run.GetID(), run.GetRunID(), false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			event, err := events.Next()
			if err != nil {
				return err
			}
			histories[who].Events = append(histories[who].Events, event)
		}
	}
	var took, cpu, allocated [len(contestants)][]float64
	var memory runtime.MemStats
	for range rounds {
		for _, who := range contestants {
			replayer := worker.NewWorkflowReplayer()
			replayer.RegisterWorkflow(ByHand)
			replayer.RegisterWorkflowWithOptions(workflows.New(workflows.Options{}).Agent, workflow.RegisterOptions{Name: protocol.AgentWorkflow})
			runtime.ReadMemStats(&memory)
			mallocs := memory.Mallocs
			before, used := time.Now(), workerCPU()
			if err := replayer.ReplayWorkflowHistoryWithOptions(nil, histories[who], options[who]); err != nil {
				return err
			}
			took[who] = append(took[who], time.Since(before).Seconds()*1000)
			cpu[who] = append(cpu[who], (workerCPU()-used).Seconds()*1000)
			runtime.ReadMemStats(&memory)
			allocated[who] = append(allocated[who], float64(memory.Mallocs-mallocs)/1000)
		}
	}
	name := func(what string) string { return fmt.Sprintf("%s of a cold replay, %d turns", what, turns) }
	l.report.compare(name("ms"), "%.0f", medians(took), 1.8)
	l.report.compare(name("CPU ms"), "%.0f", medians(cpu), 1.8)
	l.report.compare(name("thousand allocations"), "%.0f", medians(allocated), 0)
	return nil
}
