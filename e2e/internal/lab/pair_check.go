package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	workflowpb "go.temporal.io/api/workflow/v1"

	reagent "github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
)

// check makes the assertions of a case, after both arrivals. It reports whether the arrivals came with the same workflow
// task.
func (p *duo) check(a, b arrival) (together bool) {
	require.NoError(p.t, p.calls.Wait())
	p.soon("the workflow has its state and nothing to do", func() bool {
		found := p.describe(p.id)
		reads := slices.ContainsFunc(found.GetPendingActivities(), func(a *workflowpb.PendingActivityInfo) bool {
			return a.GetActivityType().GetName() == protocol.ReadAgent
		})
		return found.GetPendingWorkflowTask() == nil && !reads
	})
	together = p.inOneTask(a, b)

	var read, shown reagent.Snapshot
	require.NoError(p.t, until(p.ctx, "the history and the worker show the same agent", func(ctx context.Context) (bool, error) {
		var err, err2 error
		read, err = p.agents.ShowRecorded(ctx, p.id)
		shown, err2 = p.agents.Show(ctx, p.id)
		shown.Retry = nil // Read always leaves it nil
		for _, each := range []*reagent.Snapshot{&read, &shown} {
			// Show tells these only of an agent that has ended.
			each.Definition, each.Models, each.ModelChoices, each.Interrupts, each.ContextTokens, each.ContextLimit = nil, nil, nil, nil, 0, 0
		}
		return err == nil && err2 == nil && assert.ObjectsAreEqual(read, shown), errors.Join(err, err2)
	}), "read %+v, shown %+v", read, shown)
	p.requireNothingBegun()
	if shown.Status.Ended() {
		require.Equal(p.t, reagent.Cancelled, shown.Status, shown.Failure)
		started, err := p.agents.Resume(p.ctx, p.id, reagent.ResumeOptions{})
		require.NoError(p.t, err)
		require.False(p.t, started.Found)
	}
	p.settle()
	require.NoError(p.t, p.asides.Wait())
	p.requireSame()
	p.requireNothingLost(a, b)
	return together
}

// together reports whether the arrivals a and b can come with the same workflow task in this case. The parameter blocked is
// true if the worker's report of a workflow task was held when they came: see [situation].
func (p *duo) together(a, b arrival, blocked bool) bool {
	switch {
	case p.refused.Load():
		return false
	case b.name == reset.name:
		return false // what came before the reset stays in the old run, except the ends of sub-agents
	case a.name == first.name && blocked:
		return false // the first task is the one whose report is held
	case p.situation.fresh && (a.name == late.name || b.name == late.name):
		return false // a continued run asks for the late answer in its first task
	}
	return true
}

// inOneTask reports whether the arrivals a and b came with the same workflow task of a run.
func (p *duo) inOneTask(a, b arrival) bool {
	for _, h := range p.histories() {
		x, y := p.task(h, a), p.task(h, b)
		if x > 0 && x == y {
			return true
		}
	}
	return false
}

// task finds the workflow task in the history h with which the arrival a came. It returns the ID of the event with which this
// task started. It returns 0 if there is no such task.
func (p *duo) task(h *historypb.History, a arrival) int64 {
	p.scheduled = map[int64]string{}
	var begun, found int64
	for _, e := range h.GetEvents() {
		if s := e.GetActivityTaskScheduledEventAttributes(); s != nil {
			p.scheduled[e.GetEventId()] = s.GetActivityId()
		}
		if a.found(p, e) {
			found = e.GetEventId()
			if a.update {
				return begun
			}
		}
		if done := e.GetWorkflowTaskCompletedEventAttributes(); done != nil {
			begun = done.GetStartedEventId()
			if found > 0 && begun > found {
				return begun
			}
		}
	}
	return 0
}

// requireNothingBegun asserts that a run begins no effect in the workflow task that brings a cancel, or later. Effects are
// the loading of a definition, a model call, a tool call and a sub-agent. A run may still read its own state and look for its
// sub-agents.
func (p *duo) requireNothingBegun() {
	p.t.Helper()
	effects := []string{protocol.LoadAgent, protocol.CallModel, protocol.CallTool}
	for run, h := range p.histories() {
		asked, cancelled := false, false
		for _, e := range h.GetEvents() {
			switch e.GetEventType() {
			case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED:
				asked = true
			case enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED:
				cancelled = asked
			case enumspb.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED:
				require.False(p.t, cancelled, "run %s: event %d starts a sub-agent after the cancel", run, e.GetEventId())
			case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
				name := e.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName()
				require.False(p.t, cancelled && slices.Contains(effects, name), "run %s: event %d begins %s after the cancel", run, e.GetEventId(), name)
			}
		}
	}
}

// requireNothingLost asserts that each accepted message is in the transcript once. If neither a cancel nor an interrupt is among the
// arrivals a and b, it also asserts that the transcript has the results of the sub-agents and of the tool, and the given result.
func (p *duo) requireNothingLost(a, b arrival) {
	p.t.Helper()
	shown, err := p.agents.Show(p.ctx, p.id)
	require.NoError(p.t, err)
	lines, err := linesOf(shown.Messages)
	if shown.Status != reagent.Cancelled {
		require.NoError(p.t, err)
	}
	for _, text := range append([]string{"go"}, p.accepted...) {
		n := 0
		for _, l := range lines {
			if l.role == llm.User && l.content == text {
				n++
			}
		}
		require.Equal(p.t, 1, n, "%q in %v", text, lines)
	}
	if a.name == cancelling.name || b.name == cancelling.name {
		return // it also cancels the sub-agents, and answers open calls
	}
	interrupted := a.name == interrupt.name || b.name == interrupt.name // it cancels the sub-agents of open calls
	if p.clerk != "" {
		require.Contains(p.t, fmt.Sprint(lines), answerOf("clerk"))
	}
	if p.chief != "" && !interrupted {
		require.Contains(p.t, fmt.Sprint(lines), answerOf("chief"))
		require.Contains(p.t, fmt.Sprint(lines), "paid")
		require.Contains(p.t, fmt.Sprint(lines), "given")
	}
}
