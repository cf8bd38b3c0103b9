// Package workflows is the driver: a Temporal workflow that runs one agent. The driver asks [agent.State] for the next
// step, carries the step out with activities, child workflows and timers, and applies their results to the state as
// events. The state alone decides what the agent does.
package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/protocol"
)

// Agent is the workflow type of an agent. It must never change, because histories record it. The same holds for the
// other names in this file: histories record them, or clients of other versions use them.
const Agent = "Agent"

// The updates of a running agent. The history has no events of an update that a validator refuses.
const (
	// MessageUpdate takes an [agent.InboxMessage] and returns [Accepted].
	MessageUpdate = protocol.MessageUpdate
	// CloseUpdate has no argument. The agent accepts no more messages, and ends when its turn has ended and its inbox is
	// empty.
	CloseUpdate = protocol.CloseUpdate
	// UpgradeUpdate has no argument. The agent continues as new, on the current version of its workers, as soon as no model
	// call or tool call is in flight.
	UpgradeUpdate = protocol.UpgradeUpdate
	// ReloadUpdate takes the ID of this request to reload. The agent reads its definition again as soon as each call has
	// its result and no model call is in flight. The agent ignores a request with the ID of an earlier request.
	ReloadUpdate = protocol.ReloadUpdate
	// ResumeLostUpdate takes the ID of a resume that came too late: another resume had already continued the agent. The
	// agent counts it in its [agent.Usage].
	ResumeLostUpdate = protocol.ResumeLostUpdate
)

// The queries of an agent. Activities use one more query: [protocol.RequestQuery].
const (
	// TranscriptQuery takes a [TranscriptInput] and returns a [Transcript].
	TranscriptQuery = "transcript"
	// StateQuery returns a [View].
	StateQuery = "state"
	// PendingQuery returns a slice of [agent.Call]: the calls that have no result yet.
	PendingQuery = "pending"
)

// The memo fields of an agent, besides [protocol.MemoKey].
const (
	MemoAgent       = "reagent_agent" // the definition's name
	MemoIncarnation = "reagent_life"  // the agent's incarnation
	MemoTask        = "reagent_task"  // the beginning of the first message
)

// Refused is the type of the application error with which the workflow refuses an update or its own start input.
const Refused = "Refused"

// Moved is the type of the application error with which the workflow refuses a steering message if the agent has made progress
// since the sender looked at it. The field After of the [agent.InboxMessage] then differs from the value of
// [agent.State.Entry]. The sender has to look at the agent and send the message again.
const Moved = "Moved"

// Start is the input of the workflow.
type Start = agent.Start

// Result is the result of the workflow.
type Result struct {
	// Answer is the agent's last answer. If AnswerBytes in [Start] is not 0, the answer is cut to at most that size.
	Answer string `json:"answer"`
	// Stopped names the limit that ended the last turn: "model_calls", "tokens", "cost" or "time". It is empty if no limit ended
	// the turn.
	Stopped string `json:"stopped,omitempty"`
	// Usage counts what the agent has consumed.
	Usage agent.Usage `json:"usage"`
	// Spent counts the tokens and the cost of the agent and its sub-agents.
	Spent agent.Spending `json:"spent"`
}

// Options are the options of the workflow. Workers may use different options, and may change them, because a replay
// does not compare them with the history.
type Options struct {
	// HeartbeatTimeout is the time without a heartbeat after which Temporal gives the activities of a crashed worker to
	// another worker. Zero means 3 seconds. An activity sends a heartbeat every second, or three times in
	// HeartbeatTimeout if that is more often.
	HeartbeatTimeout time.Duration
}

// Workflows is the agent workflow with its options. Create it with [New].
type Workflows struct{ options Options }

// New returns the agent workflow with the given options. The zero Options mean the defaults.
func New(o Options) *Workflows {
	if o.HeartbeatTimeout == 0 {
		o.HeartbeatTimeout = 3 * time.Second
	}
	return &Workflows{o}
}

// Registry is the part of a Temporal worker that [Workflows.Register] needs.
type Registry interface {
	RegisterWorkflowWithOptions(w any, options workflow.RegisterOptions)
}

// Register registers the workflow with a worker, under the workflow type "Agent".
func (w *Workflows) Register(r Registry) {
	r.RegisterWorkflowWithOptions(w.Agent, workflow.RegisterOptions{Name: Agent})
}

// Agent is the workflow function. It runs one agent until the agent ends. If a failure holds the turn of an agent in task
// mode, the workflow fails with an application error. The type of this error is the class of the failure, such as an
// [llm.Class]. Do not start the workflow with a retry policy: a retry would repeat the agent's work.
func (w *Workflows) Agent(ctx workflow.Context, in Start) (Result, error) {
	return w.run(ctx, in, func(*driver) {})
}

// run implements [Workflows.Agent]. If the input is valid, run creates the driver and then calls the function begun once with
// this driver, before the driver does anything. If run refuses the input, it does not call begun.
func (w *Workflows) run(ctx workflow.Context, in Start, begun func(*driver)) (Result, error) {
	if err := in.Check(); err != nil {
		return Result{}, temporal.NewNonRetryableApplicationError(err.Error(), Refused, nil)
	}
	info := workflow.GetInfo(ctx)
	if err := in.CheckOrigin(info.WorkflowExecution.ID, info.ContinuedExecutionRunID); err != nil {
		return Result{}, temporal.NewNonRetryableApplicationError(err.Error(), Refused, nil)
	}
	// Earlier versions accepted IDs that CheckID refuses. So the check has a version: it does not apply in their histories.
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
