package attempt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/internal/protocol"
)

// timeIsUp reports whether the attempt's context ended because of the schedule-to-close timeout of the activity. That timeout is
// the time limit of the agent's turn, so the workflow no longer needs the result.
func (a *Attempt) timeIsUp() bool {
	return errors.Is(a.ctx.Err(), context.DeadlineExceeded) && a.endsWithTurn()
}

// endsWithTurn reports whether the attempt's deadline is the schedule-to-close timeout, and not an earlier timeout of one attempt.
func (a *Attempt) endsWithTurn() bool {
	limit := a.info.ScheduleToCloseTimeout
	return limit > 0 && !a.info.ScheduledTime.Add(limit).After(a.info.Deadline)
}

// TooLate returns an error if the time limit of the turn was over when the attempt began: see [protocol.OutOfTime]. It also
// reports this error to Temporal, because the SDK reports nothing after the schedule-to-close timeout.
func (a *Attempt) TooLate() error {
	if !a.timeIsUp() {
		return nil
	}
	err := temporal.NewNonRetryableApplicationError(fmt.Sprintf(
		"the time limit of the turn was over before the call began; the clock of this worker says %s, and the limit ended at %s",
		time.Now().UTC().Format(time.RFC3339), a.info.Deadline.UTC().Format(time.RFC3339)), protocol.OutOfTime, nil)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.ctx), minHeartbeatWait)
	defer cancel()
	_ = a.worker.temporal.CompleteActivity(ctx, a.info.TaskToken, nil, err) // if it fails, Temporal notices the missing heartbeats
	return err
}
