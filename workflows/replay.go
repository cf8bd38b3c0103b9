package workflows

import (
	"log/slog"
	"slices"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/proto"

	"github.com/reagent-dev/reagent/agent"
)

// Replay runs the workflow over the history of the given execution and returns the agent's state at the end
// of it. The state is nil where the workflow ended, or was cut off, before it had one. Replay needs no server
// and no worker. An error says that the history does not fit this code, or that a payload could not be decoded.
//
// The converter is that of the Temporal client; nil means the SDK's.
func Replay(h *historypb.History, execution workflow.Execution, dc converter.DataConverter) (*agent.State, error) {
	if dc == nil {
		dc = converter.GetDefaultDataConverter()
	}
	decoding := &strict{DataConverter: dc, failed: new(error)}
	replayer, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{
		DataConverter:    decoding,
		FailureConverter: temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{DataConverter: dc}),
		// A busy machine is no workflow that is stuck.
		DisableDeadlockDetection: true,
	})
	if err != nil {
		return nil, err
	}
	var d *driver
	replayer.RegisterWorkflowWithOptions(func(ctx workflow.Context, in Start) (Result, error) {
		return New(Options{}).run(ctx, in, func(begun *driver) { d = begun })
	}, workflow.RegisterOptions{Name: Agent})
	// A replay writes upserted search attributes into the start event, where the next replay would find them.
	h = &historypb.History{Events: slices.Clone(h.GetEvents())}
	if len(h.Events) > 0 {
		h.Events[0] = proto.Clone(h.Events[0]).(*historypb.HistoryEvent)
	}
	// What goes wrong is returned; the SDK would log it, too.
	quiet := log.NewStructuredLogger(slog.New(slog.DiscardHandler))
	err = replayer.ReplayWorkflowHistoryWithOptions(quiet, h, worker.ReplayWorkflowHistoryOptions{OriginalExecution: execution})
	switch {
	case *decoding.failed != nil:
		return nil, *decoding.failed
	case err != nil:
		return nil, err
	case d == nil:
		return nil, nil
	}
	return d.state, nil
}
