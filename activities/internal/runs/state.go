package runs

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/history"
	"github.com/reagent-dev/reagent/internal/protocol"
)

// Page returns one page of the compressed state of an agent, from which a new run continues the agent. It makes the state from
// the history of the run that the input names. A resume may need the state of a newer run instead: see [history.Newest]. Page
// looks for a newer run when it is asked for the first page. If there is one, the field `RunID` of the result names it.
//
// If the history is deleted or has no state, the error has the type [protocol.Gone]. If the history cannot be replayed, the
// type is [protocol.Mismatch]. If the state is too large, the type is [protocol.StateSize].
func (r *Reader) Page(ctx context.Context, in protocol.ReadAgentInput) (protocol.Page, error) {
	asked := in.From.RunID
	if in.From.Resume && in.Page == 0 {
		var err error
		in.From, err = r.newest(ctx, in.From, activity.GetInfo(ctx).WorkflowExecution.RunID)
		if err != nil {
			return protocol.Page{}, err
		}
	}
	key := fmt.Sprint(in.From.ID, "\n", in.From.RunID, "\n", in.From.Events)
	packed, ok := r.states.GetIfPresent(key)
	if !ok {
		run, err := history.Read(ctx, r.temporal, in.From, r.converter)
		switch {
		case errors.As(err, new(*serviceerror.NotFound)):
			return protocol.Page{}, temporal.NewNonRetryableApplicationError(fmt.Sprintf(
				"the history of agent %s is deleted: Temporal keeps closed workflows only for the namespace's retention period; start a new agent", in.From.ID), protocol.Gone, nil)
		case errors.As(err, new(*history.UnreadableError)):
			return protocol.Page{}, temporal.NewNonRetryableApplicationError(err.Error(), protocol.Mismatch, nil)
		case err != nil:
			return protocol.Page{}, err
		case run.State == nil:
			return protocol.Page{}, temporal.NewNonRetryableApplicationError(
				fmt.Sprintf("run %s of agent %s has no state that could be read: %v; start a new agent", in.From.RunID, in.From.ID, run.End), protocol.Gone, nil)
		}
		if !in.From.Fork && !in.From.Resume {
			run.State.Drop()
		}
		packed.events = run.Events
		packed.data, err = protocol.Pack(run.State)
		if errors.Is(err, protocol.ErrStateSize) {
			return protocol.Page{}, temporal.NewNonRetryableApplicationError(err.Error(), protocol.StateSize, nil)
		}
		if err != nil {
			return protocol.Page{}, err
		}
		in.From.Events = run.Events
		r.states.Set(fmt.Sprint(in.From.ID, "\n", in.From.RunID, "\n", in.From.Events), packed)
	}
	pages := (len(packed.data) + protocol.StatePageBytes - 1) / protocol.StatePageBytes
	from := min(in.Page*protocol.StatePageBytes, len(packed.data))
	page := protocol.Page{
		Data: packed.data[from:min(from+protocol.StatePageBytes, len(packed.data))], Pages: pages, Events: packed.events,
	}
	if in.From.RunID != asked {
		page.RunID = in.From.RunID
	}
	return page, nil
}

// packedState is the compressed state of an agent. [Reader.Page] returns the state page by page.
type packedState struct {
	// data is the result of [protocol.Pack].
	data []byte
	// events is the number of events of the history from which the state was made.
	events int64
}
