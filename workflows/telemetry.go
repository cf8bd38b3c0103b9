package workflows

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/logs"
	"github.com/reagent-dev/reagent/internal/telemetry"
)

// traceTurn makes the span of a turn that has ended, or was stopped by a hold, since the loop last looked.
func (d *driver) traceTurn() {
	ran := d.turnRan
	d.turnRan = d.state.TurnRuns()
	if !ran || d.turnRan || !d.first() {
		return
	}
	info, turn := workflow.GetInfo(d.root), d.state.Turn
	if !d.telemetry.Once(toldTurn{info.WorkflowExecution.RunID, d.state.TurnSpan().SpanID}) {
		return
	}
	ended := telemetry.Turn{
		TurnSpan: d.state.TurnSpan(), Agent: d.state.Agent, AgentID: d.state.AgentID, RunID: info.WorkflowExecution.RunID,
		Number: turn.Number, ModelCalls: turn.ModelCalls, Began: time.UnixMilli(cmp.Or(turn.Trace.Began, turn.Began)), Ended: workflow.Now(d.root),
		Limit: d.state.Tightest(d.now()),
	}
	switch {
	case d.state.Hold != nil:
		ended.Error = d.state.Hold.Class
	case d.state.Outcome != nil && d.state.Outcome.Status != agent.Completed:
		ended.Error = cmp.Or(d.state.Outcome.Class, string(d.state.Outcome.Status))
	}
	if ended.Error == agent.Interrupted {
		d.telemetry.Count(d.state.Agent, telemetry.Interrupted, 1)
	}
	d.telemetry.EndTurn(ended)
}

// traceParent returns the traceparent of what the running turn does.
func (d *driver) traceParent() string {
	if d.telemetry == nil && d.state.Turn.Trace.Parent == "" {
		return "" // without the two hashes of a span
	}
	return d.telemetry.Parent(d.state.TurnSpan())
}

// log returns the logger of the agent. It logs nothing on a replay. Its entries have the trace of the running turn, and the SDK adds the IDs of
// the agent and the run.
func (d *driver) log() log.Logger {
	if id := logs.TraceID(d.traceParent()); id != "" {
		return log.With(workflow.GetLogger(d.root), logs.Trace, id)
	}
	return workflow.GetLogger(d.root)
}

// countUsage counts what has happened to the agent since the loop last looked.
func (d *driver) countUsage() {
	before, now := d.counted, d.state.Usage
	if d.counted = now; before == now || !d.first() || !d.telemetry.Once(toldUsage{workflow.GetInfo(d.root).WorkflowExecution.RunID, now}) {
		return
	}
	for _, each := range []struct {
		event       telemetry.Event
		before, now int
	}{
		{telemetry.Recalled, before.Recalled, now.Recalled},
		{telemetry.Reattached, before.Reattached, now.Reattached},
		{telemetry.Unanswered, before.Unanswered, now.Unanswered},
		{telemetry.Repaired, before.Repaired, now.Repaired},
		{telemetry.RepairedReplies, before.RepairedReplies, now.RepairedReplies},
		{telemetry.EmptyReplies, before.EmptyReplies, now.EmptyReplies},
		{telemetry.Compactions, before.Compactions, now.Compactions},
	} {
		d.telemetry.Count(d.state.Agent, each.event, each.now-each.before)
	}
}

// measureWaits records how long each wait took that has ended, if the waits `now` are left.
func (d *driver) measureWaits(now map[agent.Key]wait) {
	if !d.first() {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(d.marked)) {
		if w := d.marked[key]; now[key] != w && d.telemetry.Once(toldWait{workflow.GetInfo(d.root).WorkflowExecution.RunID, key, w.waitsFor, w.since}) {
			d.telemetry.Waited(d.state.Agent, string(w.waitsFor), w.tool, time.Duration(max(d.now()-w.since, 0))*time.Millisecond)
		}
	}
}

// first reports whether the current workflow task is no replay. Only then does the driver tell anybody outside of it. Such a task may fail
// after that and be done again, for example because a message came while it ran. On the same worker, [telemetry.Telemetry.Once] then keeps
// the driver from telling the same again. Another worker tells it again.
func (d *driver) first() bool { return !workflow.IsReplaying(d.root) && !d.inUnrecordedTask() }

// What the driver tells of a run once: a turn, what has been used so far, and a wait.
type (
	toldTurn  struct{ run, span string }
	toldUsage struct {
		run   string
		usage agent.Usage
	}
	toldWait struct {
		run   string
		key   agent.Key
		what  agent.WaitsFor
		since int64
	}
)
