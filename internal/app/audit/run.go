package audit

import (
	"fmt"
	"slices"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"

	"github.com/reagent-dev/reagent/internal/app/object"
)

// Run is the history of one run of an agent, from its first event on.
type Run struct {
	ID, RunID string
	Events    []*historypb.HistoryEvent
	// Converter decodes payloads; nil means the SDK's default.
	Converter converter.DataConverter
}

// entry is a line that an event of a run causes.
type entry struct {
	object.AuditLine
	// copied says that a reset has copied the event, or the update, from the run in AuditLine.RunID.
	copied bool
	// update is the ID of the update that the event accepts, if it is one. Temporal delivers it again after a reset.
	update string
}

// entries returns the lines of the run, in the order of its events. They depend on this history alone, so that a later reader gets the
// same lines when Temporal has deleted other runs. More events only add lines.
func (r Run) entries() ([]entry, error) {
	if r.Converter == nil {
		r.Converter = converter.GetDefaultDataConverter()
	}
	in := newReader(r)
	for i, e := range r.Events {
		in.owner, in.copied = r.owner(i)
		if err := in.read(e); err != nil {
			return nil, fmt.Errorf("agent %s, run %s, event %d: %w", r.ID, r.RunID, e.GetEventId(), err)
		}
	}
	return in.entries, nil
}

// owner returns the run in which the event with the index i happened first, as far as this history tells. A reset copies the events before
// it from another run, which it names.
func (r Run) owner(i int) (runID string, copied bool) {
	for _, e := range r.Events[i+1:] {
		if base := e.GetWorkflowTaskFailedEventAttributes().GetBaseRunId(); base != "" {
			return base, true
		}
	}
	return r.RunID, false
}

// began returns the index of the first event that is not copied.
func (r Run) began() int {
	for i, e := range slices.Backward(r.Events) {
		if e.GetWorkflowTaskFailedEventAttributes().GetBaseRunId() != "" {
			return i
		}
	}
	return 0
}
