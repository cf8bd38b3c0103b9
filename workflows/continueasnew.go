package workflows

import (
	"errors"
	"fmt"
	"slices"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
)

// maxInlineState is the largest packed state, in bytes, that a run passes to the next run in its input. The next run
// reads a larger state from the history of the earlier run. In a payload, the state takes a third more, and Temporal refuses
// payloads over 2 MB.
const maxInlineState = 1_000_000

// maxPackedHere is the largest JSON of a state, in bytes, that the workflow compresses itself, because 24 MB take two seconds. A larger
// state is only measured here, and the next run reads it through the activity [protocol.ReadAgent].
const maxPackedHere = 4 << 20

// open gives the driver its state in a run that continues, resumes or forks an earlier run. The packed state comes from
// the start input. If the start input has no state, open reads the state from the history of the earlier run. In any other run,
// the driver has a state already, and open does nothing.
func (d *driver) open(ctx workflow.Context) error {
	if d.state != nil {
		return nil
	}
	packed := d.start.State
	if packed == nil {
		var err error
		if packed, err = d.read(); err != nil {
			return err
		}
	}
	var state *agent.State
	id, now := workflow.GetInfo(ctx).WorkflowExecution.ID, d.now()
	err := d.convert(func() (err error) {
		state, err = protocol.Open(id, d.start, packed, now)
		return err
	})
	switch {
	case errors.Is(err, protocol.ErrStateSize):
		return temporal.NewNonRetryableApplicationError(err.Error(), protocol.StateSize, nil)
	case err != nil:
		return refusal(err)
	}
	d.begin(state)
	// The loop begins after the updates that have arrived in the meantime are applied.
	return workflow.Await(d.root, func() bool { return d.served == d.early })
}

// read returns the compressed state of the earlier run that the start input names. It gets the state page by page, by the
// activity ReadAgent. After the first page, it asks for the run and the number of events that this page came from, so that all
// pages are of one state. At the end, it stores them in d.start.From.
func (d *driver) read() ([]byte, error) {
	id := d.start.Identity(workflow.GetInfo(d.root).WorkflowExecution.ID)
	start, from := d.start, *d.start.From
	var packed []byte
	for in := (protocol.ReadAgentInput{From: from}); ; in.From = from {
		ctx := d.reading(d.root, string(start.StateKey(id, in.Page)), fmt.Sprintf("state of %s, page %d", from.ID, in.Page+1))
		var page protocol.Page
		if err := workflow.ExecuteActivity(ctx, protocol.ReadAgent, in).Get(ctx, &page); err != nil {
			return nil, err
		}
		if from.Events = page.Events; page.RunID != "" {
			from.RunID = page.RunID
		}
		packed = append(packed, page.Data...)
		if in.Page++; in.Page >= page.Pages {
			d.start.From = &from
			return packed, nil
		}
	}
}

// mustContinueAsNew reports whether the run has to continue as new before it carries out the given step of the agent. There
// are two reasons: a [protocol.UpgradeUpdate], or the size of the history (see [driver.historyGrew]). But the result is always
// false in these cases:
//   - An update handler is running.
//   - A model call, a tool call or a search for messages is in flight.
//   - A notification has been delivered, and the driver has not applied this yet.
//   - The driver has received the end of a sub-agent and has not applied it yet.
//   - The step runs a tool or loads the definition.
//   - The state is too large for a new run.
//   - The workflow was cancelled, because the new run would not know of the cancel.
func (d *driver) mustContinueAsNew(ctx workflow.Context, step agent.Step) bool {
	if !d.upgrade && !d.historyGrew(ctx) || d.unmovable || ctx.Err() != nil || !workflow.AllHandlersFinished(ctx) {
		return false
	}
	for _, f := range d.operations {
		switch {
		case f.key.Kind() == agent.KindNotify:
			// A notification that is in flight does not prevent the continue-as-new, because the next run starts it again, under the
			// same key. If its result has arrived, this run applies the result first. Otherwise the notification would come twice.
			if d.ready(f) {
				return false
			}
		case f.cancel != nil && !f.timer || f.keeps:
			return false
		}
	}
	if find, ok := step.(agent.FindMessages); ok {
		step = find.Then // the next run searches
	}
	if check, ok := step.(agent.CheckText); ok {
		step = check.Then // the next run asks the guardrail
	}
	switch step := step.(type) {
	case agent.Load:
		return false
	case agent.RunTools:
		return !slices.ContainsFunc(step.Calls, func(c agent.Call) bool { return c.Child == "" && !c.Waits() })
	}
	return true
}

// leastEvents is the number of events that a run usually adds to its history before it follows Temporal's suggestion to
// continue as new. A run that has doubled the size of its history may add fewer events: see [driver.historyGrew].
const leastEvents = 1000

// historyGrew reports whether the history is so large that the run should continue as new. Two conditions must both hold:
//   - Temporal suggests to continue as new, because the history has 4 MB (limit.historySize.suggestContinueAsNew) or many
//     events.
//   - This run has added at least [leastEvents] events to its history, or the history is at least twice as large as when the
//     run got its state.
func (d *driver) historyGrew(ctx workflow.Context) bool {
	// The second condition is for agents with a large state, which is at the beginning of each run's history. Without this
	// condition, each of their runs could continue as new immediately.
	info := workflow.GetInfo(ctx)
	return info.GetContinueAsNewSuggested() &&
		(info.GetCurrentHistorySize() >= 2*d.begunBytes || info.GetCurrentHistoryLength() >= d.begunEvents+leastEvents)
}

// continueAsNew returns the error that makes Temporal continue the agent as new. The new run gets the agent's state, or reads it
// from this run if it is too large for the input. It finds running sub-agents by their IDs. If the state is too large for any
// run, the error wraps [protocol.ErrStateSize], and the agent stays in this run.
func (d *driver) continueAsNew(ctx workflow.Context) error {
	info := workflow.GetInfo(ctx)
	next := d.start
	next.Mode = d.state.Mode
	next.Message, next.Next, next.State, next.From = nil, nil, nil, nil // they belong to the first run
	state := *d.state                                                   // a copy, because a replay of this run has to return the whole state
	state.Drop()
	var packed agent.PackedState
	err := d.convert(func() (err error) {
		packed, err = protocol.PackSmall(&state, maxPackedHere)
		return err
	})
	if err != nil {
		return err
	}
	if packed != nil && len(packed) <= maxInlineState {
		next.State = packed
	} else {
		next.From = &agent.RunRef{ID: info.WorkflowExecution.ID, RunID: info.WorkflowExecution.RunID}
	}
	// If the workers use Worker Versioning, a pinned agent moves to the current version here.
	return workflow.NewContinueAsNewErrorWithOptions(ctx, workflow.ContinueAsNewErrorOptions{
		InitialVersioningBehavior: workflow.ContinueAsNewVersioningBehaviorAutoUpgrade,
	}, protocol.AgentWorkflow, next)
}
