package activities

import (
	"context"
	"errors"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/history"
	"github.com/reagent-dev/reagent/protocol"
)

// ReadAgent reads an agent's state out of a run's history.
func (a *Activities) ReadAgent(ctx context.Context, in protocol.ReadAgentInput) (protocol.Page, error) {
	beat := startHeartbeat(ctx)
	defer beat.stop()
	key := fmt.Sprint(in.From.ID, "\n", in.From.RunID, "\n", in.From.Events)
	packed, ok := a.states.GetIfPresent(key)
	if !ok {
		run, err := ReadRun(ctx, a.temporal, in.From, a.converter)
		var gone *serviceerror.NotFound
		var mismatch *history.MismatchError
		switch {
		case errors.As(err, &gone):
			return protocol.Page{}, temporal.NewNonRetryableApplicationError(fmt.Sprintf(
				"the history of agent %s is gone: Temporal keeps ended workflows for the namespace's retention only", in.From.ID), protocol.Gone, nil)
		case errors.As(err, &mismatch):
			return protocol.Page{}, temporal.NewNonRetryableApplicationError(err.Error(), protocol.Mismatch, nil)
		case err != nil:
			return protocol.Page{}, err
		case run.State == nil:
			return protocol.Page{}, temporal.NewNonRetryableApplicationError(
				fmt.Sprintf("agent %s had not begun when its run %s ended", in.From.ID, in.From.RunID), protocol.Gone, nil)
		}
		packed.events = run.Events
		if packed.data, err = protocol.Pack(run.State); err != nil {
			return protocol.Page{}, err
		}
		in.From.Events = run.Events
		a.states.Set(fmt.Sprint(in.From.ID, "\n", in.From.RunID, "\n", in.From.Events), packed)
	}
	pages := (len(packed.data) + protocol.StatePageBytes - 1) / protocol.StatePageBytes
	from := min(in.Page*protocol.StatePageBytes, len(packed.data))
	return protocol.Page{
		Data: packed.data[from:min(from+protocol.StatePageBytes, len(packed.data))], Pages: pages, Events: packed.events,
	}, nil
}

// packedState is a state that is read page by page.
type packedState struct {
	data   []byte
	events int64
}

// ReadRun folds the history of a run, or the first events of it. The converter is the
// client's; nil means the SDK's.
func ReadRun(ctx context.Context, c client.Client, from agent.From, dc converter.DataConverter) (*history.Run, error) {
	return history.Fold(from.ID, Events(ctx, c, from), dc)
}

// Events yields the events of a run.
func Events(ctx context.Context, c client.Client, from agent.From) history.Events {
	return func(yield func(*historypb.HistoryEvent, error) bool) {
		events := c.GetWorkflowHistory(ctx, from.ID, from.RunID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			event, err := events.Next()
			if !yield(event, err) || err != nil || event.GetEventId() == from.Events {
				return
			}
		}
	}
}
