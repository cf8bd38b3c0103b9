package workflows

import (
	"cmp"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/logs"
	"github.com/reagent-dev/reagent/internal/protocol"
)

// watchChild starts a coroutine for the sub-agent with the given key: see [agent.Key]. The coroutine starts the sub-agent,
// unless the sub-agent was started before. Then it waits for the end of the sub-agent, and applies the end to the state.
// Several calls may wait for one sub-agent, so watchChild does nothing if the sub-agent has such a coroutine already.
func (d *driver) watchChild(key agent.Key) {
	if d.inFlight(key) {
		return
	}
	f := &operation{key: key}
	d.operations = append(d.operations, f)
	workflow.Go(d.root, func(ctx workflow.Context) {
		child, _ := d.state.Child(key)
		end, reattached, err := d.runChild(ctx, child)
		d.childEnded(ctx, child, end, err, reattached)
		d.endOperation(f)
	})
}

// limitWait starts a coroutine that limits how long a tool call waits for its sub-agent:
//   - If the tool has a time budget, the call waits that long. There is no coroutine if the turn ends before.
//   - If it has none, the call waits until the sub-agent is idle: see [driver.watchProgress].
//
// After that time, all calls that wait for the sub-agent get a result that stands in, and the agent goes on without the real
// answer. The sub-agent keeps running, and the driver still waits for the real answer.
func (d *driver) limitWait(call agent.Call) {
	t, _ := d.state.Definition.Tool(call.Name)
	if deadline := d.state.Deadline(); t.BudgetMS != 0 && deadline != 0 && d.now()+d.budgetLeft(call, t.BudgetMS) >= deadline {
		return // the turn ends before
	}
	d.launch(&operation{key: call.Key, timer: true}, func(ctx workflow.Context) {
		if t.BudgetMS == 0 {
			d.watchProgress(ctx, call)
			return
		}
		for d.pause(ctx, d.budgetLeft(call, t.BudgetMS), "budget of "+call.Name) {
			began := call.Began
			if call = d.refresh(call); call.Began == began {
				d.apply(agent.ChildOverdue(call.Child, t.BudgetMS, d.now()))
				return
			}
		}
	})
}

// refresh returns the state's copy of a call that waits for a sub-agent. It returns the given call if the state has none.
func (d *driver) refresh(call agent.Call) agent.Call {
	d.rewind()
	for _, c := range d.state.Waiting(call.Child) {
		if c.Key == call.Key {
			return c
		}
	}
	return call
}

// budgetLeft returns how many milliseconds a call may still wait for its sub-agent; at least 1. The whole time budget is
// `budgetMS`. It counts from call.Began, the time at which the call began to wait, in this run or in an earlier one. If
// call.Began is 0, because an earlier version did not record it, budgetLeft returns the whole budget.
func (d *driver) budgetLeft(call agent.Call, budgetMS int64) int64 {
	if call.Began == 0 {
		return budgetMS
	}
	return min(max(call.Began+budgetMS-d.now(), 1), budgetMS)
}

// watchProgress waits until the sub-agent of a call is idle: nothing has happened in the sub-agent, or in an agent below it,
// for [agent.ChildIdleMS] milliseconds. Then all calls that wait for the sub-agent get a result that stands in, and the agent
// goes on. To find out whether the sub-agent is idle, watchProgress runs the activity ReadProgress from time to time. It returns
// early if `ctx` is cancelled.
func (d *driver) watchProgress(ctx workflow.Context, call agent.Call) {
	child, _ := d.state.Child(call.Child)
	lookCtx := looking(ctx, agent.ProgressKey(call.Key), "progress of "+child.ID)
	var seen protocol.AgentProgress
	for d.pause(ctx, agent.ChildIdleMS-seen.IdleMS, "progress of "+call.Name) {
		seen = protocol.AgentProgress{}
		err := workflow.ExecuteActivity(lookCtx, protocol.ReadProgress, protocol.ReadProgressInput{ID: child.ID}).Get(ctx, &seen)
		if temporal.IsCanceledError(err) {
			return
		}
		if idle := protocol.IdleEvent(call.Child, seen, err, d.now()); idle != nil {
			d.apply(idle)
			return
		}
	}
}

// pause waits for `ms` milliseconds, and then returns true. If `ctx` is cancelled earlier, pause returns false. The Web UI
// shows the given summary with the timer.
func (d *driver) pause(ctx workflow.Context, ms int64, summary string) bool {
	timer := workflow.NewTimerWithOptions(ctx, time.Duration(ms)*time.Millisecond, workflow.TimerOptions{Summary: oneLine(summary)})
	return timer.Get(ctx, nil) == nil
}

// runChild starts a sub-agent, waits until the sub-agent has ended, and returns its end. If a sub-agent with the same key was
// started before, runChild waits for that sub-agent instead: see [agent.Key]. If this run ends or is reset, the sub-agent keeps
// running, and the next run finds it by its ID.
//
// Usually Temporal reports the end to this run, because this run is the parent. If another run has started the sub-agent, or if
// the sub-agent ended from outside and was resumed, the activity AwaitAgent returns the end, and `reattached` is true. `err` is
// the error with which the sub-agent's workflow ended, or the error of the activity.
func (d *driver) runChild(ctx workflow.Context, child agent.Child) (end protocol.AgentEnd, reattached bool, err error) {
	if child.Phase != agent.ChildAsked {
		end, err = d.awaitChild(ctx, child)
		return end, true, err
	}
	depth := d.state.DepthLimit()
	start := agent.Start{
		Agent: child.Agent, Mode: agent.Task, KeyVersion: agent.KeyVersion, Incarnation: agent.ChildIncarnation(child.Key), Key: child.Key,
		Message: &agent.QueuedMessage{ID: string(child.Key), Text: child.Task, Traceparent: d.traceParent()}, Parent: d.state.AgentID,
		Depth: d.state.Depth + 1, MaxDepth: &depth, Grant: child.Grant,
		AnswerBytes: protocol.ShownBytes(d.state.Definition.Limits.ToolResultBytes), Batch: d.state.BatchSize(),
		Metadata: d.state.CurrentMetadata(), Searchable: d.searchable(ctx), NoUIContent: d.start.NoUIContent,
	}
	options := childOptions(child.ID, start)
	options.Priority = d.childPriority(ctx, child)
	if d.hasStatus { // if not, the namespace may not have registered search attributes
		options.TypedSearchAttributes = Attributes(start)
	} else {
		options.TypedSearchAttributes = Searchable(start)
	}
	running := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, options), protocol.AgentWorkflow, start)
	copied := d.reset && !d.own("start of "+child.Key.Handle())
	if running.GetChildWorkflowExecution().Get(ctx, nil) == nil {
		d.rewind()
		d.state.Apply(agent.ChildStarted{Key: child.Key}) // not d.apply: the next step stays the same
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
	case protocol.EndedFromOutside(err) && d.state.Outcome == nil:
		native := err
		if found == nil {
			found = d.find(ctx, child)
		}
		if err = found.Get(ctx, &end); err == nil && end.Failure != "" {
			return end, false, native // the sub-agent was not resumed; the error of its workflow may hold what it spent
		}
		return end, true, err
	}
	return end, false, err
}

// pollChildEnd waits for the end of a sub-agent whose start a reset has copied into this run. Temporal may never report the end
// to such a run: the future of the child workflow, `running`, may never become ready. So pollChildEnd also runs the activity
// AwaitAgent, which waits for the same end.
//
// pollChildEnd returns the future of the activity as soon as the activity or the child workflow has ended. It returns nil if the
// child workflow has ended before the activity was started.
func (d *driver) pollChildEnd(ctx workflow.Context, child agent.Child, running workflow.Future) (found workflow.Future) {
	// Temporal reports the end of the sub-agent to the run that started it. Temporal also reports the end to a run that began by
	// a reset of that run, but only if the sub-agent was running at the time of the reset. In all other runs, the future of the
	// child workflow never becomes ready. The activity is started in the first workflow task that the reset did not copy.
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

// find starts the activity AwaitAgent, which waits for the end of a sub-agent that was started before. The value of the
// returned future is a [protocol.AgentEnd]. The activity gets only the agent ID of the sub-agent and no run ID, because the
// sub-agent may have been reset, resumed or continued as new.
func (d *driver) find(ctx workflow.Context, child agent.Child) workflow.Future {
	ctx = looking(ctx, child.Key, "reattached · "+child.ID)
	return workflow.ExecuteActivity(ctx, protocol.AwaitAgent, protocol.AwaitAgentInput{ID: child.ID, Key: child.Key})
}

// awaitChild is [driver.find], but waits for the end.
func (d *driver) awaitChild(ctx workflow.Context, child agent.Child) (end protocol.AgentEnd, err error) {
	err = d.find(ctx, child).Get(ctx, &end)
	return end, err
}

// cancelChildren asks Temporal to cancel every sub-agent that has not ended, and waits for Temporal's answers, but not for the ends
// of the sub-agents. Each sub-agent cancels its own sub-agents in the same way.
func (d *driver) cancelChildren() {
	var asked []workflow.Future
	for _, child := range d.state.Children {
		if !child.Phase.Ended() {
			asked = append(asked, workflow.RequestCancelExternalWorkflow(d.root, child.ID, ""))
		}
	}
	for _, f := range asked {
		if err := f.Get(d.root, nil); err != nil {
			d.log().Debug("a sub-agent could not be cancelled", "error", err)
		}
	}
}

// stopChildren sends Temporal a request to cancel each sub-agent that somebody has stopped: see [agent.ChildCancelling]. It does not
// wait for the answer of Temporal. [driver.watchChild] waits for the end of the sub-agent.
func (d *driver) stopChildren() {
	for _, child := range d.state.Children {
		if child.Attachment == agent.ChildCancelling && !child.Phase.Ended() && !d.stopped[child.Key] {
			d.stopped[child.Key] = true
			workflow.RequestCancelExternalWorkflow(d.root, child.ID, "")
		}
	}
}

// recalled reports whether the driver may carry out the given calls for sub-agents now. If an earlier run may have the result
// of a call, the driver first has to search the earlier runs: see [driver.mayAsk]. recalled starts these searches, and
// returns false until all of them have ended. When a search ends, the loop runs again and calls recalled again.
func (d *driver) recalled(calls ...agent.Call) bool {
	all := true
	for _, call := range calls {
		if d.searched(call.Key) || !d.mayAsk(call.Key) {
			continue
		}
		all = false
		if !d.inFlight(agent.FindKey(call.Key)) {
			workflow.Go(d.root, func(ctx workflow.Context) {
				d.recall(ctx, call)
				d.version++
			})
		}
	}
	return all
}

// searched reports whether the driver has searched the earlier runs for the result of the call with the given key. A search that a reset
// copied from another run counts only in the copied tasks: this run has more earlier runs, and one of them may have begun the call.
func (d *driver) searched(call agent.Key) bool {
	by := d.recalledBy[call]
	return by != "" && d.sentHere(by)
}

// mayAsk reports whether earlier runs of the agent may have a result of the call with the given key: see [agent.Key]. It
// returns false if the agent was never reset or resumed.
func (d *driver) mayAsk(call agent.Key) bool {
	d.rewind()
	return d.start.BaseRunID != "" && d.state.MayRecall(call)
}

// searchesLate reports whether this run still searches the earlier runs for late results of sub-agents: see [agent.LateResult]. It
// starts these searches. The agent takes no step before they have ended. If it did, a model call or a message could come before a
// late result that came first in the earlier run, and the agent would take another path.
//
// Most of these searches are for sub-agents in the background, because no call waits for them. For any other sub-agent, the driver
// has usually searched before the call got its result.
func (d *driver) searchesLate() bool {
	if d.state == nil || d.state.Outcome != nil || d.state.Definition == nil {
		return false
	}
	searching := false
	for _, call := range d.state.Unanswered {
		child, known := d.state.Child(call.Child)
		ended, begun := d.late[call.Key]
		switch {
		case begun:
			searching = searching || !ended
		case !known || !d.mayHaveLate(call, child):
		default:
			searching, d.late[call.Key] = true, false
			workflow.Go(d.root, func(ctx workflow.Context) {
				d.recall(ctx, call)
				if d.late[call.Key] = true; !d.searched(call.Key) {
					delete(d.late, call.Key) // a reset came meanwhile
				}
				d.version++
			})
		}
	}
	return searching
}

// mayHaveLate reports whether this run has to search for a late result of the call: an earlier run may have got one, and the sub-agent
// has not ended and has no call that waits for it.
func (d *driver) mayHaveLate(call agent.Call, child agent.Child) bool {
	return child.Unwatched() && !d.searched(call.Key) && d.mayAsk(call.Key)
}

// awaitsLate reports whether a search for late results runs or is about to start: see [driver.searchesLate]. It starts nothing, because a
// condition of workflow.Await calls it.
func (d *driver) awaitsLate() bool {
	return d.state.Definition != nil && slices.ContainsFunc(d.state.Unanswered, func(call agent.Call) bool {
		if ended, begun := d.late[call.Key]; begun {
			return !ended
		}
		child, known := d.state.Child(call.Child)
		return known && child.Unwatched() && d.recalledBy[call.Key] != d.author && d.start.BaseRunID != "" && d.state.MayRecall(call.Key)
	})
}

// recall asks the earlier runs of the agent for the result of a call, by the activity FindCall, and applies what they have
// recorded. There are three exceptions:
//   - If the activity is already in flight for this call, recall only waits for its end.
//   - If the activity fails, the agent goes on as if the earlier runs had recorded nothing.
//   - If a reset comes meanwhile, recall applies nothing, and the caller must search again: see [driver.searched].
func (d *driver) recall(ctx workflow.Context, call agent.Call) {
	key := agent.FindKey(call.Key)
	if d.inFlight(key) {
		_ = workflow.Await(ctx, func() bool { return !d.inFlight(key) }) // d.root is never cancelled
		return
	}
	f := &operation{key: key}
	d.operations = append(d.operations, f)
	defer d.endOperation(f)
	ctx = d.reading(ctx, string(key), "recall · "+call.Name)
	in := protocol.FindCallInput{Recall: d.recallHint(call.Key), Call: call}
	in.Call.Arguments, in.Call.Result = "", nil
	var r protocol.FoundCall
	if err := workflow.ExecuteActivity(ctx, protocol.FindCall, in).Get(ctx, &r); err != nil {
		d.log().Warn("earlier runs could not be searched for the result of a call; the agent goes on without it", logs.Key, call.Key, "error", err)
	}
	d.recalledBy[call.Key] = cmp.Or(r.Run, d.author)
	if !d.searched(call.Key) {
		return // a reset came meanwhile, so there is one more run to search
	}
	d.apply(agent.CallFound{Key: call.Key, Record: r.CallRecord, Time: d.now()})
}

// childEnded applies the end of a sub-agent to the state: the calls that wait for the sub-agent get its result. The arguments
// are the results of [driver.runChild].
//
// If the agent was reset or resumed, an earlier run may have recorded other results for these calls, such as a result that stands
// in. childEnded applies the recorded results first, so that the transcript stays the same.
func (d *driver) childEnded(ctx workflow.Context, child agent.Child, end protocol.AgentEnd, err error, reattached bool) {
	unasked := d.unasked(child.Key)
	for _, call := range unasked {
		for d.recall(ctx, call); !d.searched(call.Key); {
			d.recall(ctx, call) // a reset came meanwhile
		}
	}
	limit := d.state.Definition.Limits.ToolResultBytes
	e := protocol.ChildEvent(child, end, err, reattached, limit, d.now())
	if len(unasked) > 0 && d.state.Knows(e) {
		return
	}
	d.apply(e)
}

// unasked returns those calls that wait for the sub-agent and for which this run still has to search the earlier runs. A search
// that a reset has copied from another run does not count, because this run has more earlier runs than the other run.
func (d *driver) unasked(child agent.Key) []agent.Call {
	return slices.DeleteFunc(d.state.Waiting(child), func(call agent.Call) bool {
		return d.recalledBy[call.Key] == d.runSuffix || !d.mayAsk(call.Key) || !d.since("recall "+call.Key.Handle()+" at its end")
	})
}

// receiveChildEnds handles the signals [protocol.ChildEndSignal] that have arrived. A sub-agent that was resumed sends its
// answer by this signal. The driver ignores a signal in these cases:
//   - The state does not have the sub-agent, or has its answer already.
//   - The agent has no definition yet.
//   - The signal is out of bounds: see [protocol.ChildEnd.Check].
func (d *driver) receiveChildEnds() {
	for {
		var end protocol.ChildEnd
		if !d.ends.ReceiveAsync(&end) {
			return
		}
		child, known := d.state.Child(end.Key)
		if !known || end.Check() != nil || d.state.Definition == nil || child.Phase == agent.ChildHasAnswered {
			continue
		}
		if len(d.unasked(child.Key)) == 0 {
			d.childEnded(d.root, child, end.AgentEnd, nil, false)
			continue
		}
		f := &operation{key: "end of " + end.Key, keeps: true}
		d.operations = append(d.operations, f)
		workflow.Go(d.root, func(ctx workflow.Context) {
			d.childEnded(ctx, child, end.AgentEnd, nil, false)
			d.endOperation(f)
			d.version++ // the loop has to run again: it may continue as new now
		})
	}
}

// notifyParent sends the answer of this sub-agent to its parent, by the signal [protocol.ChildEndSignal]. It sends the signal
// only from a run that a resume started, because Temporal does not report the end of such a run to the parent. If the signal
// cannot be sent, for example because the parent has ended, notifyParent only logs this.
func (d *driver) notifyParent(o agent.Outcome) {
	if d.start.Parent == "" || o.Status != agent.Completed || workflow.GetInfo(d.root).ParentWorkflowExecution != nil {
		return
	}
	spent := d.state.Spent()
	end := protocol.ChildEnd{Key: d.start.Key, AgentEnd: protocol.AgentEnd{Answer: o.Answer, Spent: &spent}}
	if err := workflow.SignalExternalWorkflow(d.root, d.start.Parent, "", protocol.ChildEndSignal, end).Get(d.root, nil); err != nil {
		d.log().Debug("the parent agent could not be notified of the answer", "error", err)
	}
}
