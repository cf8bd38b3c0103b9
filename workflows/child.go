package workflows

import (
	"cmp"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/protocol"
)

// watchChild waits for a sub-agent, once for all calls that share it.
func (d *driver) watchChild(key agent.Key) {
	if d.inFlight(key) {
		return
	}
	f := &effect{key: key}
	d.effects = append(d.effects, f)
	workflow.Go(d.root, func(ctx workflow.Context) {
		child, _ := d.state.Child(key)
		end, reattached, err := d.runChild(ctx, child)
		d.childEnded(ctx, child, end, err, reattached)
		d.endEffect(f)
	})
}

// limitWait answers a call as interrupted when its sub-agent's budget is over or, where it has none,
// when nothing has happened in it for long. The sub-agent goes on, and its answer is still waited for.
func (d *driver) limitWait(call agent.Call) {
	t, _ := d.state.Definition.Tool(call.Name)
	if d.inFlight(call.Key) {
		return
	}
	d.startEffect(call.Key, func(ctx workflow.Context) {
		if t.BudgetMS == 0 {
			d.watchProgress(ctx, call)
		} else if d.pause(ctx, d.budgetLeft(call, t.BudgetMS), "budget of "+call.Name) {
			d.apply(agent.ChildOverdue(call.Child, t.BudgetMS, d.now()))
		}
	})
	d.effects[len(d.effects)-1].timer = true
}

// budgetLeft returns how much of its budget a call still has, in milliseconds. The budget counts from when the call began
// to wait, in this run or in an earlier one.
func (d *driver) budgetLeft(call agent.Call, budgetMS int64) int64 {
	if call.Began == 0 { // it began before this was written down
		return budgetMS
	}
	return min(max(call.Began+budgetMS-d.now(), 1), budgetMS)
}

// watchProgress looks at a sub-agent from time to time until nothing happens in it any more.
func (d *driver) watchProgress(ctx workflow.Context, call agent.Call) {
	child, _ := d.state.Child(call.Child)
	lookCtx := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		ActivityID: string(agent.LookKey(call.Key)), Summary: oneLine("progress of " + child.ID),
		StartToCloseTimeout: lookTimeout, RetryPolicy: backoff(),
	})
	var seen protocol.AgentProgress
	for d.pause(ctx, agent.ChildIdleMS-seen.IdleMS, "progress of "+call.Name) {
		seen = protocol.AgentProgress{}
		err := workflow.ExecuteActivity(lookCtx, protocol.LookAgent, protocol.LookAgentInput{ID: child.ID}).Get(ctx, &seen)
		if temporal.IsCanceledError(err) {
			return
		}
		if idle := protocol.IdleEvent(call.Child, seen, err, d.now()); idle != nil {
			d.apply(idle)
			return
		}
	}
}

// pause waits for so many milliseconds and reports whether they have passed.
func (d *driver) pause(ctx workflow.Context, ms int64, what string) bool {
	timer := workflow.NewTimerWithOptions(ctx, time.Duration(ms)*time.Millisecond, workflow.TimerOptions{Summary: oneLine(what)})
	return timer.Get(ctx, nil) == nil
}

// runChild starts a sub-agent, or finds the one that was started before under the same key.
// It outlives this workflow, whatever happens to it: after a reset or a
// restart it is found again.
func (d *driver) runChild(ctx workflow.Context, child agent.Child) (end protocol.AgentEnd, reattached bool, err error) {
	if child.Started && workflow.GetVersion(ctx, "await-started", workflow.DefaultVersion, 1) >= 1 {
		end, err = d.awaitChild(ctx, child)
		return end, true, err
	}
	depth := d.state.Definition.Limits.Depth
	if d.state.MaxDepth != nil {
		depth = *d.state.MaxDepth
	}
	start := Start{
		Agent: child.Agent, Mode: agent.Task, KeyVersion: agent.KeyVersion, Incarnation: agent.ChildIncarnation(child.Key), Key: child.Key,
		Message: &agent.InboxMessage{ID: string(child.Key), Text: child.Task}, Parent: d.state.AgentID,
		Depth: d.state.Depth + 1, MaxDepth: &depth, Grant: child.Grant,
		AnswerBytes: protocol.ShownBytes(d.state.Definition.Limits.ToolResultBytes), Batch: d.state.BatchSize(),
	}
	options := childOptions(child.ID, start)
	options.TypedSearchAttributes = d.attributes(start)
	running := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, options), Agent, start)
	copied := d.reset && !d.own("start of "+child.Key.Handle())
	if running.GetChildWorkflowExecution().Get(ctx, nil) == nil {
		d.state.Apply(agent.ChildStarted{Key: child.Key}) // nothing for the loop to act on
	}
	var found workflow.Future
	if copied {
		lookCtx, cancel := workflow.WithCancel(ctx)
		if found = d.pollChildEnd(lookCtx, child, running); found != nil && !running.IsReady() {
			err = found.Get(ctx, &end)
			return end, true, err
		}
		defer cancel()
	}
	err = running.Get(ctx, &end)
	switch {
	case temporal.IsWorkflowExecutionAlreadyStartedError(err):
		d.state.Apply(agent.ChildStarted{Key: child.Key})
		end, err = d.awaitChild(ctx, child)
		return end, true, err
	case protocol.EndedFromOutside(err) && d.state.Outcome == nil && workflow.GetVersion(ctx, "await-resumed", workflow.DefaultVersion, 1) >= 1:
		native := err
		if found == nil {
			found = d.find(ctx, child)
		}
		if err = found.Get(ctx, &end); err == nil && end.Failure != "" {
			return end, false, native // it stays ended, and its error tells what it spent
		}
		return end, true, err
	}
	return end, false, err
}

// pollChildEnd waits for the end of a sub-agent whose start a reset copied. Temporal reports the end only to the run that started the
// sub-agent, and to a run that was reset from that one before the end. Another run gets no report. So the run also asks for the end
// by an activity, from its first own task on. The future is that of the activity; it is nil if Temporal reported the end before.
func (d *driver) pollChildEnd(ctx workflow.Context, child agent.Child, running workflow.Future) (found workflow.Future) {
	length := workflow.GetInfo(ctx).GetCurrentHistoryLength
	for !running.IsReady() && !d.since("await "+child.Key.Handle()) {
		task := length()
		_ = workflow.Await(ctx, func() bool { return running.IsReady() || length() != task }) // d.root is never cancelled
	}
	if running.IsReady() {
		return nil
	}
	found = d.find(ctx, child)
	_ = workflow.Await(ctx, func() bool { return running.IsReady() || found.IsReady() })
	return found
}

// find waits for a sub-agent that was started before, whatever run of it answers.
func (d *driver) find(ctx workflow.Context, child agent.Child) workflow.Future {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		ActivityID: string(child.Key), Summary: oneLine("reattached · " + child.ID),
		StartToCloseTimeout: lookTimeout, RetryPolicy: backoff(),
	})
	return workflow.ExecuteActivity(ctx, protocol.AwaitAgent, protocol.AwaitAgentInput{ID: child.ID, Key: child.Key})
}

// awaitChild waits for a sub-agent that was started before.
func (d *driver) awaitChild(ctx workflow.Context, child agent.Child) (end protocol.AgentEnd, err error) {
	err = d.find(ctx, child).Get(ctx, &end)
	return end, err
}

// cancelChildren asks every sub-agent that has not ended to end. Those have children of their
// own, to which they do the same.
func (d *driver) cancelChildren() {
	var asked []workflow.Future
	for _, child := range d.state.Children {
		if !child.Done {
			asked = append(asked, workflow.RequestCancelExternalWorkflow(d.root, child.ID, ""))
		}
	}
	for _, f := range asked {
		if err := f.Get(d.root, nil); err != nil {
			workflow.GetLogger(d.root).Debug("a sub-agent could not be cancelled", "error", err)
		}
	}
}

// recalled reports whether the earlier runs were asked what became of the calls for a sub-agent, or need not be. Where
// they have to be, it asks them, once for each call; the loop goes on when they have answered.
func (d *driver) recalled(calls ...agent.Call) bool {
	all := true
	for _, call := range calls {
		if d.recalledBy[call.Key] != "" || !d.asksEarlier(call.Key) {
			continue
		}
		all = false
		if !d.inFlight(agent.RecallKey(call.Key)) {
			workflow.Go(d.root, func(ctx workflow.Context) {
				d.recall(ctx, call)
				d.version++
			})
		}
	}
	return all
}

// mayAsk reports whether earlier runs of the agent may know what became of a call. Only a run that was reset or resumed has any.
func (d *driver) mayAsk(call agent.Key) bool {
	return d.start.BaseRunID != "" && d.state.MayRecall(call)
}

// asksEarlier reports whether the run asks earlier runs about a call before it carries the call out. In tasks that a reset copied, it
// does so only for the calls about which the copied run asked, so the version's name holds the call.
func (d *driver) asksEarlier(call agent.Key) bool {
	return d.mayAsk(call) && workflow.GetVersion(d.root, "recall-"+call.Handle(), workflow.DefaultVersion, 1) >= 1
}

// recall asks the earlier runs what became of a call for a sub-agent. Where they are being asked already, it waits for
// their answer.
func (d *driver) recall(ctx workflow.Context, call agent.Call) {
	key := agent.RecallKey(call.Key)
	if d.inFlight(key) {
		_ = workflow.Await(ctx, func() bool { return !d.inFlight(key) }) // d.root is never cancelled
		return
	}
	f := &effect{key: key}
	d.effects = append(d.effects, f)
	defer d.endEffect(f)
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		ActivityID: string(key), Summary: oneLine("recall · " + call.Name),
		StartToCloseTimeout: readTimeout, HeartbeatTimeout: d.options.HeartbeatTimeout, RetryPolicy: backoff(),
	})
	in := protocol.RecallCallInput{Effect: d.effect(call.Key), Call: call}
	in.Call.Arguments, in.Call.Result = "", nil
	var r protocol.RecalledCall
	if err := workflow.ExecuteActivity(ctx, protocol.RecallCall, in).Get(ctx, &r); err != nil {
		workflow.GetLogger(ctx).Warn("the earlier runs could not be asked for a call", "call", call.Key, "error", err)
	}
	d.recalledBy[call.Key] = cmp.Or(r.Run, "unknown")
	d.apply(agent.CallRecalled{Key: call.Key, Recalled: r.Recalled, Time: d.now()})
}

// childEnded tells the state how a sub-agent ended. In a run that was reset meanwhile the calls that wait for it may
// have been answered otherwise in the run before, which comes first.
func (d *driver) childEnded(ctx workflow.Context, child agent.Child, end protocol.AgentEnd, err error, reattached bool) {
	unasked := d.unasked(child.Key)
	for _, call := range unasked {
		d.recall(ctx, call)
	}
	limit := d.state.Definition.Limits.ToolResultBytes
	e := protocol.ChildEvent(child, end, err, reattached, limit, d.now())
	if len(unasked) > 0 && d.state.Knows(e) {
		return
	}
	d.apply(e)
}

// unasked returns the calls that wait for a sub-agent that has ended, and of which the earlier runs were not asked by
// this run but, at most, by one that it was reset from.
func (d *driver) unasked(child agent.Key) []agent.Call {
	return slices.DeleteFunc(d.state.Waiting(child), func(call agent.Call) bool {
		return d.recalledBy[call.Key] == d.runSuffix || !d.mayAsk(call.Key) || !d.since("recall "+call.Key.Handle()+" at its end")
	})
}

// receiveChildEnds takes the ends of sub-agents that were resumed, which they tell themselves.
func (d *driver) receiveChildEnds() {
	for {
		var end protocol.ChildEnd
		if !d.ends.ReceiveAsync(&end) {
			return
		}
		child, known := d.state.Child(end.Key)
		if !known || d.state.Definition == nil || child.Done && !child.Failed {
			continue
		}
		if len(d.unasked(child.Key)) == 0 {
			d.childEnded(d.root, child, end.AgentEnd, nil, false)
			continue
		}
		f := &effect{key: "end of " + end.Key, keeps: true}
		d.effects = append(d.effects, f)
		workflow.Go(d.root, func(ctx workflow.Context) {
			d.childEnded(ctx, child, end.AgentEnd, nil, false)
			d.endEffect(f)
			d.version++ // the loop may have to end the run
		})
	}
}

// notifyParent tells the agent that asked for this sub-agent its answer, where Temporal does not: the run was started by a
// resume and not by that agent. An agent that has ended hears nothing.
func (d *driver) notifyParent(o agent.Outcome) {
	if d.start.Parent == "" || o.Status != agent.Completed || workflow.GetInfo(d.root).ParentWorkflowExecution != nil {
		return
	}
	spent := d.state.Spent()
	end := protocol.ChildEnd{Key: d.start.Key, AgentEnd: protocol.AgentEnd{Answer: o.Answer, Spent: &spent}}
	if err := workflow.SignalExternalWorkflow(d.root, d.start.Parent, "", protocol.ChildEndSignal, end).Get(d.root, nil); err != nil {
		workflow.GetLogger(d.root).Debug("the parent could not be told", "error", err)
	}
}
