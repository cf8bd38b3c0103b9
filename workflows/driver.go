package workflows

import (
	"errors"
	"fmt"
	"slices"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/internal/telemetry"
)

// driver runs the loop of one agent. It has the agent's state, and knows which activities, sub-agents and timers of this run
// are in flight: see [operation]. A replay of the history restores all fields of the driver.
type driver struct {
	start     agent.Start
	state     *agent.State // nil while it is read from an earlier run
	options   Options
	telemetry *telemetry.Telemetry
	// turnRan says that the turn ran when the loop last looked: see [driver.traceTurn]. counted is what the agent had used then: see
	// [driver.countUsage].
	turnRan bool
	counted agent.Usage

	// root is a context that a cancel of the workflow does not cancel, so that the driver can still start activities and send signals.
	root       workflow.Context
	operations []*operation
	// turnTimer is the timer for the time limit of the running turn: see [driver.watchDeadline]. waitTimer is the timer for the
	// earliest limit of the calls that wait for somebody outside: see [driver.watchWaits].
	turnTimer, waitTimer timer
	// asides are the model calls that answer questions aside: see [driver.aside].
	asides map[agent.Key]workflow.Future
	// stopped records for which sub-agents this run has sent a request to cancel: see [driver.stopChildren].
	stopped map[agent.Key]bool
	shown   shown
	// unseen says that nobody sees the details of this driver: a [Replay] runs it.
	unseen bool
	// marked has the calls that waited for somebody outside when [driver.markWaits] last ran, and what they waited for.
	marked map[agent.Key]wait
	// marksLeft is the number of markers that [driver.mark] may still record. A negative number means that there is no limit. A [Replay]
	// begins with the number of markers in the history.
	marksLeft int
	// unrecorded is the length of the history at a workflow task that has no record. [Replay] runs such a task at the end of a run that
	// was terminated or timed out. The driver then does what it would do if the task ran for the first time. 0 means no such task.
	unrecorded int
	// hasStatus and hasWaitingFor say which search attributes the agent has: see [driver.index]. indexed has their values.
	hasStatus, hasWaitingFor bool
	indexed                  [2]string
	// runSuffix is the end of this run's ID: see [protocol.RunSuffix].
	runSuffix string
	// reset says that this run began by a reset of an earlier run. rewound says that the state knows of this reset: see [driver.rewind].
	// rewoundAt is the length of the history at the task in which the state last learnt of any reset.
	reset, rewound bool
	rewoundAt      int
	// author is the end of the ID of the run that first executed the current task. In a task that a reset has copied, this is not the
	// current run.
	author string
	// restarted is the time, in Unix milliseconds, at which the time limits have begun again after a reset. 0 means that there was none.
	restarted int64
	// version increases when the loop has to run again, for example after an event that changed the state. The loop waits
	// until version has changed.
	version int
	// early is the number of updates that arrived before the driver had a state. served is the number of those updates for
	// which [driver.await] has returned.
	early, served int
	// upgrade says that the agent has received a [protocol.UpgradeUpdate].
	upgrade bool
	// begunEvents and begunBytes are the number of events and the size, in bytes, that the history had when the run got its state.
	begunEvents, begunBytes int
	// unmovable says that the state is too large to continue as new.
	unmovable bool
	// ends receives the signals by which resumed sub-agents report their ends.
	ends workflow.ReceiveChannel
	// recalledBy records for which calls [driver.recall] has ended. The map's key is the key of the call. The value is the end
	// of the ID of the run that searched the earlier runs. If the search failed, it is the author of the task in which recall ended.
	recalledBy map[agent.Key]string
	// late has the calls for which [driver.searchesLate] has begun a search, and whether the search has ended.
	late map[agent.Key]bool
}

// operation is work that this run has started and that has not ended: for example a model call, a tool call, a sub-agent, a
// search of earlier runs, or a timer. At most one operation has a given key at a time, because Temporal refuses an activity ID
// that is in use.
type operation struct {
	key    agent.Key
	cancel workflow.CancelFunc // nil if the driver must not cancel the operation, for example a sub-agent
	timer  bool                // the operation only limits the time of a call, so it does not prevent a continue as new
	keeps  bool                // the operation has data that is not in the state yet; the run must not continue as new before the operation ends

	// result is the result of the operation's activity: see [driver.collectResults]. It is nil before the activity starts, and for
	// an operation that is not just one activity.
	result workflow.Future
	// ended applies the result to the state. The driver calls it when the result is there.
	ended func(workflow.Context)
}

// newDriver returns the driver of a run. If the run begins with the state of an earlier run, the driver has no state yet: see
// [driver.open].
func newDriver(ctx workflow.Context, in agent.Start, o Options, t *telemetry.Telemetry) *driver {
	info := workflow.GetInfo(ctx)
	if in.Incarnation == "" {
		in.Incarnation = info.FirstRunID
	}
	reset := info.OriginalRunID != "" && info.OriginalRunID != info.WorkflowExecution.RunID
	if in.BaseRunID == "" && reset {
		in.BaseRunID = info.OriginalRunID
	}
	in.NoUIContent = in.NoUIContent || o.NoUIContent
	checkVersion(in.KeyVersion)
	root, _ := workflow.NewDisconnectedContext(ctx)
	d := &driver{
		start: in, options: o, telemetry: t, root: root, runSuffix: protocol.RunSuffix(info.WorkflowExecution.RunID), reset: reset, author: protocol.RunSuffix(info.OriginalRunID),
		recalledBy: map[agent.Key]string{}, late: map[agent.Key]bool{}, stopped: map[agent.Key]bool{}, asides: map[agent.Key]workflow.Future{}, ends: workflow.GetSignalChannel(root, protocol.ChildEndSignal),
		marksLeft: -1,
	}
	attributes := workflow.GetTypedSearchAttributes(ctx)
	d.indexed[0], d.hasStatus = attributes.GetKeyword(protocol.AttributeStatus)
	d.indexed[1], d.hasWaitingFor = attributes.GetKeyword(protocol.AttributeWaitingFor)
	if !in.Continues() {
		d.begin(agent.New(info.WorkflowExecution.ID, in, d.now()))
	}
	return d
}

// checkVersion panics if this worker is older than the agent and cannot make its keys: see [agent.KeyVersion]. The panic fails
// the workflow task. Temporal repeats the task until a newer worker gets it.
func checkVersion(version int) {
	if version > agent.KeyVersion {
		panic(fmt.Sprintf("the agent's keys have version %d, and this worker supports versions up to %d: update the worker", version, agent.KeyVersion))
	}
}

// begin gives the driver the state with which the run begins. It records the size of the history for [driver.historyGrew].
func (d *driver) begin(s *agent.State) {
	checkVersion(s.KeyVersion)
	d.state = s
	info := workflow.GetInfo(d.root)
	d.turnRan, d.counted = s.TurnRuns(), s.Usage
	d.begunEvents, d.begunBytes = info.GetCurrentHistoryLength(), info.GetCurrentHistorySize()
}

// run is the loop of the driver. It asks the state for the next step, starts the work of this step, and waits for the next
// event. It returns when the agent has ended or continues as new. The loop stores no position of its own: the state alone
// knows what comes next.
func (d *driver) run(ctx workflow.Context) (protocol.Result, error) {
	if ctx.Err() != nil {
		d.yield() // no operation is in flight yet
	}
	for {
		if ctx.Err() != nil && d.state.Outcome == nil {
			d.apply(agent.CancelRequested{Time: d.now()})
		}
		d.rewind()
		d.receiveChildEnds()
		d.endTurnInTime()
		d.endWaitsInTime()
		if seen := d.version; d.searchesLate() {
			if err := d.awaitEvent(ctx, seen); err != nil {
				return protocol.Result{}, err
			}
			continue
		}
		d.traceTurn() // Advance may begin the next one
		d.state.Advance(d.now())
		d.traceTurn()
		d.countUsage()
		step := d.state.Next()
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
			d.log().Warn("the agent cannot continue as new, because its state is too large; it stays in this run")
		}
		seen := d.version
		d.watchDeadline(step)
		d.watchWaits()
		d.carryOut(step)
		d.cancelUnwanted(step)
		d.showDetails()
		if !d.looks(step) {
			d.notify()
			d.markWaits()
			d.index()
		}
		if err := d.awaitEvent(ctx, seen); err != nil {
			return protocol.Result{}, err
		}
	}
}

// awaitEvent waits until the loop has to run again: the version is no longer `seen`, a sub-agent has sent its answer, or the workflow
// is cancelled. Meanwhile it applies the results of activities to the state. No other coroutine waits for them, because Temporal's SDK
// wakes each waiting coroutine several times for each event.
func (d *driver) awaitEvent(ctx workflow.Context, seen int) error {
	happened := func() bool { return d.version != seen || d.ends.Len() > 0 }
	for {
		err := workflow.Await(ctx, func() bool { return happened() || ctx.Err() == nil && d.hasResults() })
		switch {
		case temporal.IsCanceledError(err):
			d.apply(agent.CancelRequested{Time: d.now()})
			return nil
		case err != nil:
			return fmt.Errorf("await an event: %w", err)
		case happened():
			return nil
		}
		d.applyResults()
		d.letOthersRun()
	}
}

// hasResults reports whether there are results of activities that can be applied.
func (d *driver) hasResults() bool { return slices.ContainsFunc(d.operations, d.ready) }

// applyResults applies the results of activities to the state.
func (d *driver) applyResults() {
	d.rewind()
	for _, f := range slices.Clone(d.operations) {
		if d.ready(f) {
			f.ended(d.root)
			d.endOperation(f)
		}
	}
}

// letOthersRun lets every other coroutine run once, such as an update handler that waits for a result. Recorded histories have the commands
// of these coroutines before those of the loop.
func (d *driver) letOthersRun() {
	asked := false
	_ = workflow.Await(d.root, func() (passed bool) { // d.root is never cancelled
		passed, asked = asked, true
		return passed
	})
}

// collectResults applies the results of activities while the agent ends and the loop waits for something else. It never returns.
func (d *driver) collectResults(ctx workflow.Context) {
	for {
		_ = workflow.Await(ctx, d.hasResults) // d.root is never cancelled
		d.applyResults()
	}
}

// ready reports whether the result of an operation can be applied: see the field result of [operation]. The result of a model call
// waits for the searches that follow a reset, because another run may have stopped the call and put a message into the transcript
// instead. The verdict on a text waits for the search of other runs, too.
func (d *driver) ready(f *operation) bool {
	if f.key.Kind() == agent.KindText && d.state.Reset != d.state.Searched {
		return false // another run may have a person's decision on the text
	}
	if f.key.Kind() == agent.KindModel && (d.state.Reset != d.state.Searched || d.awaitsLate()) {
		return false
	}
	return f.result != nil && f.result.IsReady()
}

// yield lets the handlers of all updates in the run's first workflow task start before the loop goes on. The loop calls yield
// if the workflow is already cancelled in that task. Without it, the agent would end before it receives the messages in these
// updates. After a reset, such messages would be lost: Temporal delivers earlier messages again in the first task, and their
// senders do not send them again.
func (d *driver) yield() {
	passed := false
	workflow.Go(d.root, func(workflow.Context) { passed = true })
	_ = workflow.Await(d.root, func() bool { return passed }) // d.root is never cancelled
}

// looks reports whether the agent is asking other runs what has become of its calls. The answer may be a decision or a result, so
// nobody is told yet that a call waits.
func (d *driver) looks(step agent.Step) bool {
	switch step := step.(type) {
	case agent.FindMessages:
		return true
	case agent.CheckText:
		return d.looks(step.Then)
	case agent.RunTools:
		return slices.ContainsFunc(step.Calls, func(c agent.Call) bool { return c.Search })
	}
	return false
}

// own reports whether the current workflow task is a task of this run, and not one that a reset copied from another run. It
// records the answer as a workflow version (workflow.GetVersion), whose name begins with the text `point`. If a run calls own
// twice, the two texts must differ.
func (d *driver) own(point string) bool {
	if d.inUnrecordedTask() {
		return true
	}
	return workflow.GetVersion(d.root, point+" in "+d.runSuffix, workflow.DefaultVersion, 1) >= 1
}

// since reports whether the driver takes an optional action in the current workflow task. `point` is a name for the action:
//   - If the task runs for the first time, since returns true and records a workflow version (workflow.GetVersion).
//   - In a replay, it returns true only if the history has this version. So in a task that a reset copied from another run, it
//     returns true only if the other run took the action in that task.
//   - In the unrecorded task (see [driver.inUnrecordedTask]), it returns true and records nothing.
func (d *driver) since(point string) bool {
	if d.inUnrecordedTask() {
		return true
	}
	// The length of the history is different in each workflow task. With the same name in all tasks, the result in the first
	// copied task would also be the result in all later tasks.
	id := fmt.Sprint(point, ", at ", workflow.GetInfo(d.root).GetCurrentHistoryLength())
	return workflow.GetVersion(d.root, id, workflow.DefaultVersion, 1) >= 1
}

// inUnrecordedTask reports whether the current workflow task is the one in the field unrecorded of [driver].
func (d *driver) inUnrecordedTask() bool {
	return d.unrecorded > 0 && workflow.GetInfo(d.root).GetCurrentHistoryLength() >= d.unrecorded
}

// apply applies an event to the state. It reports whether the event changed the state. If so, the loop runs again. For a nil
// event, apply does nothing and returns false.
func (d *driver) apply(e agent.Event) (changed bool) {
	d.rewind()
	changed = e != nil && d.state.Apply(e)
	if changed {
		d.version++
	}
	return changed
}

// now returns the time of the workflow clock, in Unix milliseconds.
func (d *driver) now() int64 { return workflow.Now(d.root).UnixMilli() }

// carryOut starts the work that the step asks for, such as a model call or tool calls. It does not start work that is already
// in flight. It also makes the driver wait for each sub-agent whose calls got a result that stands in, because the sub-agent
// may still send the real answer.
func (d *driver) carryOut(step agent.Step) {
	for _, child := range d.state.Children {
		if child.Unwatched() && d.state.Definition != nil && !d.inFlight(child.Key) && d.recalled(d.state.Waiting(child.Key)...) {
			d.watchChild(child.Key) // the answer may still come, even in a later run than the run that made the call
		}
	}
	d.stopChildren()
	switch step := step.(type) {
	case agent.Load:
		d.startActivity(step.Key, func(ctx workflow.Context, f *operation) { d.load(ctx, f, step) })
	case agent.ResolveOverrides:
		d.startActivity(step.Key, func(ctx workflow.Context, f *operation) { d.resolveOverrides(ctx, f, step) })
	case agent.CallModel:
		d.state.Apply(agent.ModelAsked{Key: step.Key})
		d.startActivity(step.Key, func(ctx workflow.Context, f *operation) { d.callModel(ctx, f, step) })
	case agent.Compact:
		d.startActivity(step.Key, func(ctx workflow.Context, f *operation) { d.compact(ctx, f, step) })
	case agent.CheckText:
		d.startActivity(step.Key, func(ctx workflow.Context, f *operation) { d.checkText(ctx, f, step) })
	case agent.FindMessages:
		d.launch(&operation{key: step.Key}, func(ctx workflow.Context) { d.findMessages(ctx, step) })
	case agent.RunTools:
		d.runTools(step)
	}
}

func (d *driver) runTools(step agent.RunTools) {
	for _, call := range step.Calls {
		if call.Search && !d.inFlight(agent.FindKey(call.Key)) {
			workflow.Go(d.root, func(ctx workflow.Context) { d.recall(ctx, call) })
		}
	}
	for _, call := range step.Running(agent.CallsAtOnce, d.started) {
		switch {
		case call.Child == "":
			d.startActivity(call.Key, func(ctx workflow.Context, f *operation) { d.callTool(ctx, f, call) })
		case d.recalled(call):
			if d.state.Apply(agent.CallBegan{Key: call.Key, Time: d.now()}) {
				call.Began = d.now()
			}
			d.watchChild(call.Child)
			d.limitWait(call)
		}
	}
}

// started reports whether a tool call is in flight. A call that a sub-agent answers is in flight while the sub-agent is, and while
// [driver.recall] searches for its result.
func (d *driver) started(call agent.Call) bool {
	if call.Child == "" {
		return d.inFlight(call.Key)
	}
	return d.inFlight(call.Child) || d.inFlight(agent.FindKey(call.Key))
}

// startActivity is like [driver.launch], but for an operation that is one activity. The function `start` starts the activity and
// sets the fields `result` and `ended` of the operation.
func (d *driver) startActivity(key agent.Key, start func(workflow.Context, *operation)) {
	f := &operation{key: key}
	d.launch(f, func(ctx workflow.Context) { start(ctx, f) })
}

// launch calls the function `run` in a coroutine of its own, and records that the operation f is in flight: see [operation]. It does
// nothing if an operation with the same key is in flight. The
// operation f is in flight until the function returns or, if the function sets `f.result`, until collectResults has applied the
// result. launch sets `f.cancel`, which cancels the context of the function.
func (d *driver) launch(f *operation, run func(workflow.Context)) {
	if d.inFlight(f.key) {
		return
	}
	ctx, cancel := workflow.WithCancel(d.root)
	f.cancel = cancel
	d.operations = append(d.operations, f)
	workflow.Go(ctx, func(ctx workflow.Context) {
		if run(ctx); f.result == nil { // collectResults ends an operation that has a result
			d.endOperation(f)
		}
	})
}

func (d *driver) inFlight(key agent.Key) bool {
	return slices.ContainsFunc(d.operations, func(f *operation) bool { return f.key == key })
}

// endOperation records that an operation has ended. It cancels the context of the operation, because d.root would keep it until the
// end of the run.
func (d *driver) endOperation(f *operation) {
	if f.cancel != nil {
		f.cancel()
	}
	d.operations = slices.DeleteFunc(d.operations, func(g *operation) bool { return g == f })
}

// cancelUnwanted cancels the work in flight that the given step does not contain. For example, when the turn reaches a limit, a
// tool call gets a result that stands in, and the step no longer contains the call.
func (d *driver) cancelUnwanted(step agent.Step) {
	for _, f := range d.operations {
		switch f.key.Kind() {
		case agent.KindMessages: // the search ends soon, and a later step may ask for it under the same activity ID
			continue
		case agent.KindNotify: // no step asks for a notification
			continue
		}
		if f.cancel != nil && !agent.Wants(step, f.key) {
			f.cancel()
		}
	}
}

// finish ends the run, and returns the result or the error of the workflow. In this order, it:
//   - cancels the work in flight, except notifications;
//   - cancels the sub-agents that are still running, because no call waits for their answers. If the agent has completed and its
//     definition has KeepAgents, they keep running;
//   - tells the parent and the hooks of the end: see [driver.notifyParent] and [driver.notifyEnd].
func (d *driver) finish(o agent.Outcome) (protocol.Result, error) {
	workflow.Go(d.root, d.collectResults)
	for _, f := range d.operations {
		if f.cancel != nil && f.key.Kind() != agent.KindNotify {
			f.cancel()
		}
	}
	d.turnTimer.stop() // the Web UI would show timers that are not stopped as running for ever
	d.waitTimer.stop()
	if def := d.state.Definition; o.Status != agent.Completed || def == nil || !def.KeepAgents {
		d.cancelChildren()
	}
	d.showDetails()
	d.index()
	d.notifyParent(o)
	d.notifyEnd(o)
	switch o.Status {
	case agent.Completed:
		if d.start.AnswerBytes > 0 {
			o.Answer = protocol.Stored(o.Answer, d.start.AnswerBytes, d.start.AnswerBytes, d.start.Batch)
		}
		return protocol.Result{
			Answer: o.Answer, FinishReason: o.FinishReason, Stopped: o.Stopped, Refusal: d.state.Refusal(), Usage: d.state.Usage, Spent: d.state.Spent(),
		}, nil
	case agent.Cancelled:
		return protocol.Result{}, temporal.NewCanceledError(d.state.Spent())
	default:
		details := []any{d.state.Spent()}
		if r := d.state.Refusal(); r != nil {
			details = append(details, *r)
		}
		return protocol.Result{}, temporal.NewNonRetryableApplicationError(o.Message, o.Class, nil, details...)
	}
}
