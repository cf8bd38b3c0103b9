package workflows

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/protocol"
)

// driver runs the loop of one agent. Besides the state, it knows which effects of this run are in flight. A replay of the
// history restores all of its fields.
type driver struct {
	start   agent.Start
	state   *agent.State // nil while it is read from an earlier run
	options Options

	// root is a disconnected context: a cancel of the workflow does not cancel it. So the driver can still start
	// activities and send signals after a cancel.
	root    workflow.Context
	effects []*effect
	// turnTimer is the timer for the time limit of the running turn. The deadline is in Unix milliseconds; 0 means none.
	turnTimer struct {
		deadline int64
		cancel   workflow.CancelFunc
	}
	shown shown
	// runSuffix is the end of this run's ID: see [protocol.RunSuffix].
	runSuffix string
	// reset says that this run began by a reset of an earlier run.
	reset bool
	// version increases with each event that changes the state, and whenever the loop has to run again for another reason.
	version int
	// early is the number of updates that arrived before the driver had a state. served is the number of these updates for
	// which [driver.await] has returned.
	early, served int
	// upgrade says that the agent has received a [protocol.UpgradeUpdate].
	upgrade bool
	// begunEvents and begunBytes are the length and the size of the history at the time at which the run got its state.
	begunEvents, begunBytes int
	// unmovable says that the state is too large to continue as new.
	unmovable bool
	// ends receives the signals with which sub-agents that were resumed report their ends.
	ends workflow.ReceiveChannel
	// recalledBy records the searches that have ended: searches of earlier runs for the result of a call for a sub-agent. The
	// key is the key of the call. The value is the end of the ID of the run that made the search, or "unknown" if the search
	// failed.
	recalledBy map[agent.Key]string
}

// effect is an effect that this run has started and that has not ended. There is at most one effect with a key at a time,
// because Temporal refuses an activity ID that is in use.
type effect struct {
	key    agent.Key
	cancel workflow.CancelFunc // nil if the driver must not cancel the effect, for example a sub-agent
	timer  bool                // the effect only limits the time of a call, so it does not prevent a continue as new
	keeps  bool                // the effect holds data that is not in the state yet, so the run must not continue as new before it ends
}

// newDriver returns the driver of a run. If the run starts from the state of an earlier run, the driver has no state
// yet: see [driver.open].
func newDriver(ctx workflow.Context, in agent.Start, o Options) *driver {
	info := workflow.GetInfo(ctx)
	if in.Incarnation == "" {
		in.Incarnation = info.FirstRunID
	}
	reset := info.OriginalRunID != "" && info.OriginalRunID != info.WorkflowExecution.RunID
	if in.BaseRunID == "" && reset {
		in.BaseRunID = info.OriginalRunID
	}
	checkVersion(in.KeyVersion)
	root, _ := workflow.NewDisconnectedContext(ctx)
	d := &driver{
		start: in, options: o, root: root, runSuffix: protocol.RunSuffix(info.WorkflowExecution.RunID), reset: reset,
		recalledBy: map[agent.Key]string{}, ends: workflow.GetSignalChannel(root, protocol.ChildEndSignal),
	}
	if !in.Continues() {
		d.begin(agent.New(info.WorkflowExecution.ID, in, d.now()))
	}
	return d
}

// checkVersion panics if this worker is older than the agent and cannot make the agent's keys. The panic fails the workflow
// task, and Temporal gives the task to another worker. The parameter version is the version of the agent's keys.
func checkVersion(version int) {
	if version > agent.KeyVersion {
		panic(fmt.Sprintf("the agent's keys have version %d, and this worker supports versions up to %d: update the worker", version, agent.KeyVersion))
	}
}

// begin sets the state with which the run begins, and records the size of the history. In a run that began by a reset, it
// applies [agent.Rewound].
func (d *driver) begin(s *agent.State) {
	checkVersion(s.KeyVersion)
	d.state = s
	info := workflow.GetInfo(d.root)
	d.begunEvents, d.begunBytes = info.GetCurrentHistoryLength(), info.GetCurrentHistorySize()
	if d.reset {
		d.apply(agent.Rewound{Run: d.runSuffix})
	}
}

// run is the loop of the driver. It asks the state for the next step, starts the effects of the step, and waits for the next
// event. It returns when the agent has ended or continues as new. The loop itself stores no position: only the state knows what
// comes next.
func (d *driver) run(ctx workflow.Context) (protocol.Result, error) {
	if ctx.Err() != nil {
		d.yield()
	}
	for {
		if ctx.Err() != nil && d.state.Outcome == nil && d.cancelsFirst() {
			d.apply(agent.CancelRequested{Time: d.now()})
		}
		d.receiveChildEnds()
		d.state.Advance(d.now())
		step := d.state.Next()
		if find, ok := step.(agent.FindMessages); ok && !d.looksBack(find) {
			step = find.Then
		}
		switch step := step.(type) {
		case agent.Finish:
			return d.finish(step.Outcome)
		case agent.TakeMessage:
			d.apply(agent.MessageTaken{ID: step.ID, Time: d.now()})
			continue
		}
		if d.mustContinueAsNew(ctx, step) {
			if err := d.continueAsNew(ctx); !errors.Is(err, protocol.ErrStateSize) {
				return protocol.Result{}, err
			}
			d.unmovable = true
			workflow.GetLogger(ctx).Warn("the agent cannot continue as new, because its state is too large; it stays in this run")
		}
		seen := d.version
		d.watchDeadline()
		d.carryOut(step)
		d.cancelUnwanted(step)
		d.showDetails()
		d.index()
		err := workflow.Await(ctx, func() bool { return d.version != seen || d.ends.Len() > 0 })
		if temporal.IsCanceledError(err) {
			d.apply(agent.CancelRequested{Time: d.now()})
		} else if err != nil {
			return protocol.Result{}, fmt.Errorf("await an event: %w", err)
		}
	}
}

// yield waits until the handlers of all updates in the run's first workflow task have started. The loop calls it before it
// handles a cancel in that task. Without yield, messages could be lost: after a reset, Temporal delivers earlier messages in
// the first task again, and their senders do not send them again. No effect is in flight in that task.
func (d *driver) yield() {
	passed := false
	workflow.Go(d.root, func(workflow.Context) { passed = true })
	_ = workflow.Await(d.root, func() bool { return passed }) // d.root is never cancelled
}

// cancelsFirst reports whether the driver handles a cancel before it starts the next step. This matters if the same workflow
// task brings a cancel and another event. The first version of the driver started the next step before it handled the cancel.
// For histories of that version, cancelsFirst returns false.
func (d *driver) cancelsFirst() bool {
	return workflow.GetVersion(d.root, "cancel before the next step", workflow.DefaultVersion, 1) >= 1
}

// looksBack reports whether this run searches other runs for messages, as the given step asks. In workflow tasks that a reset
// copied, it returns true only if the copied run made the search in the same task. Each search has a workflow version
// (workflow.GetVersion) of its own: the name of the version contains the key of the search.
func (d *driver) looksBack(search agent.FindMessages) bool {
	return d.inFlight(search.Key) || d.since(string(search.Key))
}

// own reports whether the current workflow task is a task of this run. It returns false if a reset copied the task from
// another run. The parameter point becomes part of the name of a workflow version (workflow.GetVersion). So if a run calls
// the method own twice, it must pass two different values.
func (d *driver) own(point string) bool {
	return workflow.GetVersion(d.root, point+" in "+d.runSuffix, workflow.DefaultVersion, 1) >= 1
}

// since reports whether the driver takes an optional action in the current workflow task. The parameter point names the
// action. If the task runs for the first time, the method records a workflow version (workflow.GetVersion) and returns true.
// In a replay, the method returns true only if the history has this version. So, in tasks that a reset copied, the method
// returns true only if the copied run took the action in the same task.
//
// The name of the version contains the length of the history, which is different in each workflow task. With the same name in
// all tasks, the result in the first copied task would also be the result in all later tasks.
func (d *driver) since(point string) bool {
	id := fmt.Sprint(point, ", at ", workflow.GetInfo(d.root).GetCurrentHistoryLength())
	return workflow.GetVersion(d.root, id, workflow.DefaultVersion, 1) >= 1
}

// apply applies an event to the state and reports whether the event changed the state. After a change, the loop runs again. If e
// is nil, apply does nothing and returns false.
func (d *driver) apply(e agent.Event) (changed bool) {
	changed = e != nil && d.state.Apply(e)
	if changed {
		d.version++
	}
	return changed
}

// now returns the time of the workflow clock, in Unix milliseconds.
func (d *driver) now() int64 { return workflow.Now(d.root).UnixMilli() }

// carryOut starts the effects that the step asks for and that are not in flight. It also waits for sub-agents whose calls were
// answered as interrupted.
func (d *driver) carryOut(step agent.Step) {
	for _, child := range d.state.Children {
		if child.Interrupted && !child.Done && d.state.Definition != nil && !d.inFlight(child.Key) && d.recalled(d.state.Waiting(child.Key)...) {
			d.watchChild(child.Key) // the answer may still come, even in a later run than the run that made the call
		}
	}
	switch step := step.(type) {
	case agent.Load:
		d.startEffect(step.Key, func(ctx workflow.Context) { d.load(ctx, step) })
	case agent.CallModel:
		d.state.Apply(agent.ModelAsked{Key: step.Key})
		d.startEffect(step.Key, func(ctx workflow.Context) { d.callModel(ctx, step) })
	case agent.Compact:
		d.startEffect(step.Key, func(ctx workflow.Context) { d.compact(ctx, step) })
	case agent.FindMessages:
		d.startEffect(step.Key, func(ctx workflow.Context) { d.findMessages(ctx, step) })
	case agent.RunTools:
		for _, call := range step.Running(d.callsAtOnce(step), d.started) {
			switch {
			case call.Child == "":
				d.startEffect(call.Key, func(ctx workflow.Context) { d.callTool(ctx, call) })
			case d.recalled(call):
				if d.state.Apply(agent.CallBegan{Key: call.Key, Time: d.now()}) {
					call.Began = d.now()
				}
				d.watchChild(call.Child)
				d.limitWait(call)
			}
		}
	}
}

// callsAtOnce returns how many of the step's calls may run at the same time: all of them in histories of earlier versions, and
// [agent.CallsAtOnce] in other histories.
func (d *driver) callsAtOnce(step agent.RunTools) int {
	if len(step.Calls) <= agent.CallsAtOnce {
		return agent.CallsAtOnce
	}
	reply := step.Calls[0].Model.Handle()
	if workflow.GetVersion(d.root, "calls at once, "+reply, workflow.DefaultVersion, 1) == workflow.DefaultVersion {
		return len(step.Calls)
	}
	return agent.CallsAtOnce
}

// started reports whether an effect of the call is in flight: the tool call, the sub-agent, or the search of earlier runs for
// the result of the call.
func (d *driver) started(call agent.Call) bool {
	if call.Child == "" {
		return d.inFlight(call.Key)
	}
	return d.inFlight(call.Child) || d.inFlight(agent.RecallKey(call.Key))
}

// startEffect runs one effect in a coroutine of its own, unless it is in flight.
func (d *driver) startEffect(key agent.Key, run func(workflow.Context)) {
	d.launch(&effect{key: key}, run)
}

// launch runs the effect f in a coroutine of its own, and sets f.cancel. It does nothing if an effect with the same key is in
// flight.
func (d *driver) launch(f *effect, run func(workflow.Context)) {
	if d.inFlight(f.key) {
		return
	}
	ctx, cancel := workflow.WithCancel(d.root)
	f.cancel = cancel
	d.effects = append(d.effects, f)
	workflow.Go(ctx, func(ctx workflow.Context) {
		run(ctx)
		d.endEffect(f)
	})
}

func (d *driver) inFlight(key agent.Key) bool {
	return slices.ContainsFunc(d.effects, func(f *effect) bool { return f.key == key })
}

func (d *driver) endEffect(f *effect) {
	d.effects = slices.DeleteFunc(d.effects, func(g *effect) bool { return g == f })
}

// cancelUnwanted cancels the effects in flight for which the step does not ask. For example, the step no longer asks for a tool
// call that was answered as interrupted because of a limit.
func (d *driver) cancelUnwanted(step agent.Step) {
	for _, f := range d.effects {
		if f.key.Kind() == agent.KindMessages {
			continue // the search ends soon, and a later step may ask for it under the same activity ID
		}
		if f.cancel != nil && !agent.Wants(step, f.key) {
			f.cancel()
		}
	}
}

// watchDeadline starts a timer for the time limit of the running turn. If the deadline has changed, it first cancels the
// timer of the earlier deadline.
func (d *driver) watchDeadline() {
	deadline := d.state.Deadline()
	if deadline == d.turnTimer.deadline {
		return
	}
	if d.turnTimer.cancel != nil {
		d.turnTimer.cancel()
	}
	d.turnTimer.deadline, d.turnTimer.cancel = deadline, nil
	if deadline == 0 {
		return
	}
	ctx, cancel := workflow.WithCancel(d.root)
	d.turnTimer.cancel = cancel
	turn := d.state.Turn.Number
	left := time.Duration(max(deadline-d.now(), 1)) * time.Millisecond
	workflow.Go(ctx, func(ctx workflow.Context) {
		timer := workflow.NewTimerWithOptions(ctx, left, workflow.TimerOptions{
			Summary: fmt.Sprintf("time limit of turn %d", turn),
		})
		if timer.Get(ctx, nil) == nil {
			d.apply(agent.TimeReached{Turn: turn, Time: d.now()})
		}
	})
}

// finish returns the result or the error of the workflow. Before that, it cancels the effects in flight and the sub-agents
// that are still running, because no call waits for their answers. If the agent has completed and its definition has
// KeepAgents, the sub-agents keep running.
func (d *driver) finish(o agent.Outcome) (protocol.Result, error) {
	for _, f := range d.effects {
		if f.cancel != nil {
			f.cancel()
		}
	}
	if d.turnTimer.cancel != nil {
		d.turnTimer.cancel() // otherwise the Web UI shows the timer as running for ever
	}
	if def := d.state.Definition; o.Status != agent.Completed || def == nil || !def.KeepAgents {
		d.cancelChildren()
	}
	d.showDetails()
	d.index()
	d.notifyParent(o)
	switch o.Status {
	case agent.Completed:
		if d.start.AnswerBytes > 0 {
			o.Answer = protocol.Stored(o.Answer, d.start.AnswerBytes, d.start.AnswerBytes, d.start.Batch)
		}
		return protocol.Result{Answer: o.Answer, Stopped: o.Stopped, Usage: d.state.Usage, Spent: d.state.Spent()}, nil
	case agent.Cancelled:
		return protocol.Result{}, temporal.NewCanceledError(d.state.Spent())
	default:
		return protocol.Result{}, temporal.NewNonRetryableApplicationError(o.Message, o.Class, nil, d.state.Spent())
	}
}
