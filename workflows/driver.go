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

// driver runs the loop. What it holds beside the state can be derived from state and
// history at any time: which effects of this run are in flight.
type driver struct {
	start   Start
	state   *agent.State // nil while it is read from an earlier run
	options Options

	// root is not cancelled when the workflow is: what has to be said
	// after a cancel is said through it.
	root    workflow.Context
	effects []*effect
	// turnTimer is the running turn's timer.
	turnTimer struct {
		deadline int64
		cancel   workflow.CancelFunc
	}
	shown shown
	// runSuffix is the end of this run's ID: see [protocol.RunSuffix].
	runSuffix string
	// reset says that this run began by a reset of an earlier one.
	reset bool
	// version counts applied events, so that the loop knows that there is something new.
	version int
	// early counts messages that came before there was a state.
	early int
	// upgrade says that somebody asked for a new run.
	upgrade bool
	// begunEvents and begunBytes are the length and size of the history when the run had its state.
	begunEvents, begunBytes int
	// unmovable says that the state is too large to go on in a new run.
	unmovable bool
	// ends brings the ends of sub-agents that were resumed.
	ends workflow.ReceiveChannel
	// recalledBy holds, by the key of a call for a sub-agent, the run that asked the earlier runs for it.
	recalledBy map[agent.Key]string
}

// effect is an effect that was started in this run and has not ended. An effect
// is in flight once at most: Temporal refuses an activity ID that is in use.
type effect struct {
	key    agent.Key
	cancel workflow.CancelFunc // nil for a sub-agent, which is never given up silently
	timer  bool                // waits for time to pass and for nothing else
	keeps  bool                // holds what stands nowhere else, so that the run must not end before
}

func newDriver(ctx workflow.Context, in Start, o Options) *driver {
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

// checkVersion fails the workflow task where the worker is older than the agent and cannot make the agent's keys. Temporal gives the
// task to another worker.
func checkVersion(keys int) {
	if keys > agent.KeyVersion {
		panic(fmt.Sprintf("the agent has keys of version %d, and this worker knows those up to %d: update the worker", keys, agent.KeyVersion))
	}
}

// begin takes the state with which the run begins.
func (d *driver) begin(s *agent.State) {
	checkVersion(s.KeyVersion)
	d.state = s
	info := workflow.GetInfo(d.root)
	d.begunEvents, d.begunBytes = info.GetCurrentHistoryLength(), info.GetCurrentHistorySize()
	if d.reset {
		d.apply(agent.Rewound{Run: d.runSuffix})
	}
}

// run asks for the next step, sees to it that the step is under way, and waits
// until something has happened. Nothing here knows where the agent stands.
func (d *driver) run(ctx workflow.Context) (Result, error) {
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
				return Result{}, err
			}
			d.unmovable = true
			workflow.GetLogger(ctx).Warn("the agent stays in its run: its state is too large for a new one")
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
			return Result{}, fmt.Errorf("await an event: %w", err)
		}
	}
}

// yield lets the handlers of updates run that came with a cancel in the run's first task. After a reset there may be messages among them
// that no sender sends again. Nothing else is under way in that task.
func (d *driver) yield() {
	passed := false
	workflow.Go(d.root, func(workflow.Context) { passed = true })
	_ = workflow.Await(d.root, func() bool { return passed }) // d.root is never cancelled
}

// cancelsFirst reports whether a cancel that came together with something else is taken before anything is begun. Runs
// of the first version of the driver began the next step before they looked for a cancel.
func (d *driver) cancelsFirst() bool {
	return workflow.GetVersion(d.root, "cancel before the next step", workflow.DefaultVersion, 1) >= 1
}

// looksBack reports whether the run searches other runs for messages at this point. In tasks that a reset copied, it does so only
// where the copied run did. The key in the version's name tells one search from the next.
func (d *driver) looksBack(find agent.FindMessages) bool {
	return d.inFlight(find.Key) || d.since(string(find.Key))
}

// own reports whether this run executed this point itself. It returns false in tasks that a reset copied from another run.
func (d *driver) own(point string) bool {
	return workflow.GetVersion(d.root, point+" in "+d.runSuffix, workflow.DefaultVersion, 1) >= 1
}

// since reports whether to take a step that only some runs take. It returns true in a task that runs for the first time, and records a
// version. In a replay it returns true if that version is in the history. In tasks that a reset copied, it thus returns true only
// where the copied run took the step. The version's name holds the task, because one version for the whole run would also hold in
// copied tasks.
func (d *driver) since(point string) bool {
	id := fmt.Sprint(point, ", at ", workflow.GetInfo(d.root).GetCurrentHistoryLength())
	return workflow.GetVersion(d.root, id, workflow.DefaultVersion, 1) >= 1
}

// apply tells the state what has happened, and reports whether that changed it.
func (d *driver) apply(e agent.Event) (changed bool) {
	changed = e != nil && d.state.Apply(e)
	if changed {
		d.version++
	}
	return changed
}

// now returns the workflow clock in Unix milliseconds.
func (d *driver) now() int64 { return workflow.Now(d.root).UnixMilli() }

// carryOut starts what the step asks for and is not in flight.
func (d *driver) carryOut(step agent.Step) {
	for _, child := range d.state.Children {
		if child.Interrupted && !child.Done && d.state.Definition != nil && !d.inFlight(child.Key) && d.recalled(d.state.Waiting(child.Key)...) {
			d.watchChild(child.Key) // its answer may still come, also in a later run than the one that asked
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

// callsAtOnce returns how many of the calls may run at the same time. In histories of earlier versions all of them did.
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

// started reports whether the call, its sub-agent or the look into earlier runs for it is in flight.
func (d *driver) started(call agent.Call) bool {
	if call.Child == "" {
		return d.inFlight(call.Key)
	}
	return d.inFlight(call.Child) || d.inFlight(agent.RecallKey(call.Key))
}

// startEffect runs one effect in a coroutine of its own, unless it is in flight.
func (d *driver) startEffect(key agent.Key, run func(workflow.Context)) {
	if d.inFlight(key) {
		return
	}
	ctx, cancel := workflow.WithCancel(d.root)
	f := &effect{key: key, cancel: cancel}
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

// cancelUnwanted cancels the effects that the step does not ask for any more: their
// calls were answered otherwise, by a limit or a cancel.
func (d *driver) cancelUnwanted(step agent.Step) {
	for _, f := range d.effects {
		if f.key.Kind() == agent.KindMessages {
			continue // it is soon over, and asked for again under the same activity ID
		}
		if f.cancel != nil && !agent.Wants(step, f.key) {
			f.cancel()
		}
	}
}

// watchDeadline keeps a timer for the end of the running turn's time.
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

// finish ends the workflow, and first the sub-agents that still run, unless they are to be
// kept: nobody waits for their answers any more.
func (d *driver) finish(o agent.Outcome) (Result, error) {
	for _, f := range d.effects {
		if f.cancel != nil {
			f.cancel()
		}
	}
	if d.turnTimer.cancel != nil {
		d.turnTimer.cancel() // else the Web UI shows it waiting for ever
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
		return Result{Answer: o.Answer, Stopped: o.Stopped, Usage: d.state.Usage, Spent: d.state.Spent()}, nil
	case agent.Cancelled:
		return Result{}, temporal.NewCanceledError(d.state.Spent())
	default:
		return Result{}, temporal.NewNonRetryableApplicationError(o.Message, o.Class, nil, d.state.Spent())
	}
}
