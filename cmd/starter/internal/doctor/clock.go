package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/reagent-dev/reagent/internal/app/object"
)

const (
	// clockQueue is a task queue on which there are never any tasks. It is the same for each check, because the server remembers it.
	clockQueue = "reagent-doctor"
	// clockPolls is the largest number of polls, and clockPause the time after each.
	clockPolls, clockPause = 40, 100 * time.Millisecond
	// smallSkew is a difference of clocks that has no effect, and largeSkew one with which calls may be refused.
	smallSkew, largeSkew = time.Second, 30 * time.Second
)

// checkClock compares the clock of this machine with that of the server. No request of Temporal returns the time, but a task queue says when
// each poller came. So the check polls a task queue without tasks. A poll may arrive at a part of the task queue that is not described, so
// there are several.
func checkClock(ctx context.Context, p *patient) []object.Finding {
	polling, stop := context.WithCancel(ctx)
	defer stop()
	queue := &taskqueuepb.TaskQueue{Name: clockQueue, Kind: enumspb.TASK_QUEUE_KIND_NORMAL}
	sent, refused := map[string]time.Time{}, make(chan error, clockPolls)
	for range clockPolls {
		identity := clockQueue + "-" + uuid.NewString()
		sent[identity] = time.Now()
		go func() {
			_, err := p.temporal.WorkflowService().PollActivityTaskQueue(polling, &workflowservice.PollActivityTaskQueueRequest{
				Namespace: p.flags.Namespace, TaskQueue: queue, Identity: identity,
			})
			refused <- err
		}()
		select {
		case err := <-refused:
			return []object.Finding{failed("ask for the time of the server, by a poll without effect", err)}
		case <-time.After(clockPause):
		}
		found, err := p.temporal.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
			Namespace: p.flags.Namespace, TaskQueue: queue, TaskQueueType: enumspb.TASK_QUEUE_TYPE_ACTIVITY,
		})
		if err != nil {
			return []object.Finding{failed("ask for the time of the server", err)}
		}
		for _, poller := range found.GetPollers() {
			if at, ours := sent[poller.GetIdentity()]; ours {
				return []object.Finding{judgeClock(poller.GetLastAccessTime().AsTime(), at, time.Now())}
			}
		}
	}
	return []object.Finding{unchecked("the clock: the server does not say when it was polled")}
}

// judgeClock judges the time that the server had at some moment between two times of this machine.
func judgeClock(server, from, to time.Time) object.Finding {
	skew, where := time.Duration(0), ""
	switch {
	case server.Before(from):
		skew, where = from.Sub(server), "ahead of"
	case server.After(to):
		skew, where = server.Sub(to), "behind"
	}
	text := fmt.Sprintf("the clock of this machine is at least %s %s that of the server", skew.Round(time.Millisecond), where)
	cure := "let NTP set the clocks of this machine, the workers and the server: `timedatectl set-ntp true`"
	switch {
	case skew > largeSkew:
		return wrong(text, cure, "timedatectl set-ntp true")
	case skew > smallSkew:
		return warn(text, cure, "timedatectl set-ntp true")
	}
	return well("the clocks of this machine and the server agree")
}
