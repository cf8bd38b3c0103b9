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
	"github.com/reagent-dev/reagent/internal/protocol"
)

// Replay computes the state of an agent from its history. It replays the history with the code of the agent workflow, and
// returns the state at the end of the history. The result is nil if the history ends before the workflow had a state, or if the workflow
// refused its input. Replay needs no server and no worker. It returns an error if the history does not fit this code, or if a payload
// could not be decoded.
//
// The data converter `dc` must be the data converter of the Temporal client. Nil means the SDK's default.
//
// If `untold` is true, Replay tells the state of the reset that began the run, unless a workflow task has told it: see [driver.rewind].
// For a run that goes on, `untold` must be false, because its state learns of the reset when something happens.
//
// `unrecorded` is for a run that was terminated or timed out. Package history then adds a workflow task that never ran, and `unrecorded`
// is the number of events up to the start of this task. It is 0 if there is no such task.
func Replay(h *historypb.History, execution workflow.Execution, dc converter.DataConverter, untold bool, unrecorded int) (*agent.State, error) {
	if dc == nil {
		dc = converter.GetDefaultDataConverter()
	}
	decoding := &strict{DataConverter: dc, failed: new(error)}
	replayer, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{
		DataConverter:    decoding,
		FailureConverter: temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{DataConverter: dc}),
		// On a busy machine the detector would report a deadlock of a workflow that is only slow.
		DisableDeadlockDetection: true,
	})
	if err != nil {
		return nil, err
	}
	marks := waitMarkers(h)
	var d *driver
	replayer.RegisterWorkflowWithOptions(func(ctx workflow.Context, in agent.Start) (protocol.Result, error) {
		return New(Options{}).run(ctx, in, func(begun *driver) {
			d, begun.marksLeft, begun.unrecorded, begun.unseen = begun, marks, unrecorded, true
		})
	}, workflow.RegisterOptions{Name: protocol.AgentWorkflow})
	// The replayer adds upserted search attributes to the start event. It gets a copy of this event, so that another replay
	// of the same history does not find them.
	h = &historypb.History{Events: slices.Clone(h.GetEvents())}
	if len(h.Events) > 0 {
		h.Events[0] = proto.Clone(h.Events[0]).(*historypb.HistoryEvent)
	}
	// Replay returns its errors. Without this logger, the SDK would also log them.
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
	if untold {
		d.rewindAtEnd()
	}
	return d.state, nil
}
