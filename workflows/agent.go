// Package workflows is the driver: a Temporal workflow that runs one agent. The driver asks [agent.State] for the next
// step, carries the step out with activities, child workflows and timers, and applies their results to the state as
// events. The state alone decides what the agent does.
package workflows

import (
	"cmp"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/internal/telemetry"
)

// Options are the options of the agent workflow. Different workers may have different options. You may change them at any
// time, because a replay does not compare them with the history.
type Options struct {
	// HeartbeatTimeout is the heartbeat timeout of activities. If Temporal gets no heartbeat of an activity for this time, it gives the
	// activity to another worker. An activity sends two heartbeats in this time. Zero means [DefaultHeartbeatTimeout].
	HeartbeatTimeout time.Duration
	// Telemetry says that turns have spans and metrics. TracerProvider and MeterProvider make them; nil means OpenTelemetry's global one.
	Telemetry      bool
	TracerProvider trace.TracerProvider
	MeterProvider  metric.MeterProvider
	// NoUIContent is [agent.Start].NoUIContent for all agents of the worker. What the program that starts an agent has written stays.
	NoUIContent bool
	// Commands makes the commands in the details that the Web UI shows. Nil means [protocol.NoCommands].
	Commands protocol.Commands
}

// DefaultHeartbeatTimeout is the default of [Options.HeartbeatTimeout].
const DefaultHeartbeatTimeout = 3 * time.Second

// WatchedHeartbeatTimeout is the heartbeat timeout of activities if workers see by other means that one of them is lost. It is long, because
// Temporal Cloud bills each heartbeat of an activity.
const WatchedHeartbeatTimeout = 30 * time.Second

// Workflows has the workflow function of an agent, as a method, and its options. Make one with [New].
type Workflows struct {
	options   Options
	telemetry *telemetry.Telemetry // nil for none
}

// New returns the workflows with the given options. The zero Options select the defaults.
func New(o Options) *Workflows {
	if o.HeartbeatTimeout == 0 {
		o.HeartbeatTimeout = DefaultHeartbeatTimeout
	}
	if o.Commands == nil {
		o.Commands = protocol.NoCommands{}
	}
	w := &Workflows{options: o}
	if o.Telemetry {
		w.telemetry = telemetry.New(telemetry.Options{Tracers: o.TracerProvider, Meters: o.MeterProvider})
	}
	return w
}

// Registry is the part of a Temporal worker that [Workflows.Register] needs.
type Registry interface {
	RegisterWorkflowWithOptions(w any, options workflow.RegisterOptions)
}

// Register registers the agent workflow with a worker, under the workflow type "Agent".
func (w *Workflows) Register(r Registry) {
	r.RegisterWorkflowWithOptions(w.Agent, workflow.RegisterOptions{Name: protocol.AgentWorkflow})
}

// Agent is the workflow function. It runs one agent until the agent ends, and returns the result of the agent. If the agent
// fails, the workflow fails with an application error, whose type is the class of the failure, such as an [llm.Class]. If the agent
// is cancelled, so is the workflow. The details of both errors are an [agent.Spending].
//
// If the workflow refuses its input, or cannot begin with the state in it, the error has the type [protocol.Refused] or
// [protocol.StateSize]. If the state of the earlier run cannot be read, it is the error of the activity. These errors have no Spending.
//
// Do not start the workflow with a retry policy: a retry would repeat the agent's work.
func (w *Workflows) Agent(ctx workflow.Context, in agent.Start) (protocol.Result, error) {
	return w.run(ctx, in, func(*driver) {})
}

// run does the work of [Workflows.Agent]. Before the driver does anything, run passes it to the function `begun`, because [Replay]
// reads the agent's state from the driver. If run refuses the input, there is no driver, and run does not call `begun`.
func (w *Workflows) run(ctx workflow.Context, in agent.Start, begun func(*driver)) (protocol.Result, error) {
	info := workflow.GetInfo(ctx)
	id := info.WorkflowExecution.ID
	if err := cmp.Or(in.Check(), in.CheckOrigin(id, info.ContinuedExecutionRunID), agent.CheckID(id)); err != nil {
		return protocol.Result{}, refusal(err)
	}
	d := newDriver(ctx, in, w.options, w.telemetry)
	begun(d)
	if err := d.listen(ctx); err != nil {
		return protocol.Result{}, err
	}
	if err := d.open(ctx); err != nil {
		return protocol.Result{}, err
	}
	return d.run(ctx)
}
