// Package workflows is the driver: one Temporal workflow that runs one agent. It asks
// [agent.State] for the next step, carries the step out by activities, child
// workflows and timers, and applies what came of it. It decides nothing itself.
package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/protocol"
)

// Agent is the workflow type. It stands in every history, so it is fixed, like all
// names in this file.
const Agent = "Agent"

// The updates of a running agent. A refused update leaves no trace in history.
const (
	// MessageUpdate takes an [agent.InboxMessage] and returns [Accepted].
	MessageUpdate = protocol.MessageUpdate
	// CloseUpdate lets the agent finish when its turn and its inbox are done.
	CloseUpdate = protocol.CloseUpdate
	// UpgradeUpdate lets the agent go on in a new run, on the current version of its workers, as
	// soon as no model or tool call runs.
	UpgradeUpdate = protocol.UpgradeUpdate
	// ReloadUpdate takes an ID and lets the agent read its definition anew, as soon as no model or tool call runs. An ID that
	// came before changes nothing.
	ReloadUpdate = protocol.ReloadUpdate
	// ResumeLostUpdate takes the ID of a resume that lost against another one, to be counted.
	ResumeLostUpdate = protocol.ResumeLostUpdate
)

// The queries. [protocol.RequestQuery] is one more.
const (
	// TranscriptQuery takes a [TranscriptInput] and returns a [Transcript].
	TranscriptQuery = "transcript"
	// StateQuery returns a [View].
	StateQuery = "state"
	// PendingQuery returns the [agent.Call]s without a result.
	PendingQuery = "pending"
)

// The memo fields of an agent, beside [protocol.MemoKey].
const (
	MemoAgent       = "reagent_agent" // the definition's name
	MemoIncarnation = "reagent_life"
	MemoTask        = "reagent_task" // the beginning of the first message
)

// Refused is the error type of an update that a validator refused.
const Refused = "Refused"

// Moved is the error type of a message that names a place at which it would not enter any more.
const Moved = "Moved"

// Start is the input of the workflow.
type Start = agent.Start

// Result is the result of the workflow.
type Result struct {
	// Answer is the last thing the agent said.
	Answer string `json:"answer"`
	// Stopped names the limit that cut the last turn short: "model_calls", "tokens", "cost" or "time".
	Stopped string      `json:"stopped,omitempty"`
	Usage   agent.Usage `json:"usage"`
	// Spent counts the tokens and the cost of the agent and its sub-agents.
	Spent agent.Spending `json:"spent"`
}

// Options set what the workflow asks of Temporal. They may change from one
// worker to the next: nothing of them is part of a replay.
type Options struct {
	// HeartbeatTimeout is the time after which the work of a worker that died is
	// given to another. Defaults to 3 seconds. Heartbeats come every second, or three in that time where it is shorter.
	HeartbeatTimeout time.Duration
}

// Workflows holds the options of the agent workflow.
type Workflows struct{ options Options }

// New returns the workflows; the zero Options mean the defaults.
func New(o Options) *Workflows {
	if o.HeartbeatTimeout == 0 {
		o.HeartbeatTimeout = 3 * time.Second
	}
	return &Workflows{o}
}

// Registry is the part of a worker that takes workflows.
type Registry interface {
	RegisterWorkflowWithOptions(w any, options workflow.RegisterOptions)
}

// Register makes the workflow known to a worker.
func (w *Workflows) Register(r Registry) {
	r.RegisterWorkflowWithOptions(w.Agent, workflow.RegisterOptions{Name: Agent})
}

// Agent runs one agent until it ends. An agent that is held in task mode fails with an
// error whose type is the cause's class; it has no retry policy, because
// starting it again would do its work again.
func (w *Workflows) Agent(ctx workflow.Context, in Start) (Result, error) {
	return w.run(ctx, in, func(*driver) {})
}

// run is Agent. It hands out the driver before the driver does anything.
func (w *Workflows) run(ctx workflow.Context, in Start, begun func(*driver)) (Result, error) {
	if err := in.Check(); err != nil {
		return Result{}, temporal.NewNonRetryableApplicationError(err.Error(), Refused, nil)
	}
	info := workflow.GetInfo(ctx)
	if err := in.CheckOrigin(info.WorkflowExecution.ID, info.ContinuedExecutionRunID); err != nil {
		return Result{}, temporal.NewNonRetryableApplicationError(err.Error(), Refused, nil)
	}
	// In histories of earlier versions there may be such an ID.
	if err := agent.CheckID(info.WorkflowExecution.ID); err != nil && workflow.GetVersion(ctx, "check-id", workflow.DefaultVersion, 1) >= 1 {
		return Result{}, temporal.NewNonRetryableApplicationError(err.Error(), Refused, nil)
	}
	d := newDriver(ctx, in, w.options)
	begun(d)
	if err := d.listen(ctx); err != nil {
		return Result{}, err
	}
	if err := d.open(ctx); err != nil {
		return Result{}, err
	}
	return d.run(ctx)
}
