package activities

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/internal/protocol"
)

// timeIsUp reports whether the attempt's context ended because of the schedule-to-close timeout of the activity. This is the time
// limit of the agent's turn, so the workflow does not need the result any more.
func (h *heartbeat) timeIsUp() bool {
	return errors.Is(h.ctx.Err(), context.DeadlineExceeded) && h.endsWithTurn()
}

// endsWithTurn reports whether the deadline of the attempt is that of the schedule-to-close timeout.
func (h *heartbeat) endsWithTurn() bool {
	limit := h.info.ScheduleToCloseTimeout
	return limit > 0 && !h.info.ScheduledTime.Add(limit).After(h.info.Deadline)
}

// tooLate returns an error if the time limit of the turn was over when the attempt began: see [protocol.OutOfTime]. It also
// reports this error to Temporal, because the SDK reports nothing after the schedule-to-close timeout.
func (h *heartbeat) tooLate() error {
	if !h.timeIsUp() {
		return nil
	}
	err := temporal.NewNonRetryableApplicationError(fmt.Sprintf(
		"the time limit of the turn was over before the call began; the clock of this worker says %s, and the limit ended at %s",
		time.Now().UTC().Format(time.RFC3339), h.info.Deadline.UTC().Format(time.RFC3339)), protocol.OutOfTime, nil)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(h.ctx), minHeartbeatWait)
	defer cancel()
	_ = h.client.CompleteActivity(ctx, h.info.TaskToken, nil, err) // if it fails, Temporal notices the missing heartbeats
	return err
}
