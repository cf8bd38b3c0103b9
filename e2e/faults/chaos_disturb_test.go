package faults_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/google/uuid"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/reagent-dev/reagent/agent"
	reagent "github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/config"
	"github.com/reagent-dev/reagent/history"
)

// blow is one kind of disturbance of a chaos run.
type blow struct {
	name string
	// weight is how often it is chosen, beside the others.
	weight int
	// do disturbs the agent of that ID, or the workers of all. The error says that it could not be done.
	do func(c *chaos, ctx context.Context, id string) error
	// all says that it disturbs all agents, or notes itself what it disturbs.
	all bool
}

var errNothing = errors.New("there is nothing to disturb")

var blows = []blow{
	{name: "kill", weight: 10, all: true, do: func(c *chaos, _ context.Context, _ string) error {
		c.crew.kill(c.random.IntN(len(c.crew.members)))
		return nil
	}},
	{name: "freeze", weight: 5, all: true, do: (*chaos).freeze},
	{name: "stall", weight: 4, all: true, do: (*chaos).stall},
	{name: "cut", weight: 5, all: true, do: (*chaos).cut},
	{name: "server", weight: 2, all: true, do: (*chaos).killServer},
	{name: "terminate", weight: 12, do: (*chaos).terminate},
	{name: "cancel", weight: 10, do: (*chaos).cancel},
	{name: "send-cancel", weight: 10, do: (*chaos).sendAndCancel},
	{name: "reset", weight: 15, do: (*chaos).resetNewest},
	{name: "reset-older", weight: 8, do: (*chaos).resetOlder},
	{name: "delete", weight: 6, do: (*chaos).deleteEarlier},
	{name: "delete-child", weight: 5, do: (*chaos).deleteChild},
	{name: "terminate-child", weight: 8, do: (*chaos).terminateChild},
	{name: "reset-child", weight: 6, do: (*chaos).resetChild},
	{name: "upgrade", weight: 12, do: func(c *chaos, ctx context.Context, id string) error {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		return c.Client.Upgrade(ctx, id)
	}},
}

// disturbUntil disturbs the agents until all have come to their ends, or there was enough of it.
func (c *chaos) disturbUntil(ctx context.Context, done <-chan error) error {
	enough := time.After(c.storm)
	for {
		select {
		case err := <-done:
			return err
		case <-enough:
			return <-done
		case <-time.After(time.Duration(50+c.random.IntN(350)) * time.Millisecond):
			c.disturb(ctx)
		}
	}
}

func (c *chaos) disturb(ctx context.Context) {
	c.mu.Lock()
	ids := slices.Clone(c.started)
	if c.random.IntN(4) > 0 {
		ids = slices.DeleteFunc(ids, func(id string) bool { return c.ended[id] })
	}
	c.mu.Unlock()
	if len(ids) == 0 {
		return
	}
	sum := 0
	for _, b := range blows {
		sum += b.weight
	}
	id, n := ids[c.random.IntN(len(ids))], c.random.IntN(sum)
	for _, b := range blows {
		if n -= b.weight; n >= 0 {
			continue
		}
		if c.without[b.name] || !b.all && c.troubled[id] >= maxTroubles {
			return
		}
		began := time.Now()
		// What cannot be done, because the agent has just ended, is noted, too: it may have been done in part.
		err := b.do(c, ctx, id)
		if !b.all {
			c.troubled[id]++
			c.ledger.disturbed(id, b.name, began)
		}
		c.T.Logf("%5.1fs %s %s: %v", began.Sub(c.began).Seconds(), b.name, id, err)
		return
	}
}

// freeze stops a worker for some seconds. It does not know, when it goes on, that time has passed.
func (c *chaos) freeze(ctx context.Context, _ string) error {
	c.crew.mu.Lock()
	p := c.crew.members[c.random.IntN(len(c.crew.members))]
	c.crew.mu.Unlock()
	if p == nil || p.Ended() {
		return errNothing
	}
	began, d := time.Now(), c.between(time.Second, 6*time.Second)
	if err := p.Cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	c.later.Go(func() {
		_ = pause(ctx, d)
		_ = p.Cmd.Process.Signal(syscall.SIGCONT)
		c.ledger.disturbed("", "freeze", began)
	})
	return nil
}

func (c *chaos) between(least, most time.Duration) time.Duration {
	return least + time.Duration(c.random.Int64N(int64(most-least)))
}

// stall lets no byte pass between the workers and the server for some seconds.
func (c *chaos) stall(ctx context.Context, _ string) error {
	return c.network(ctx, "stall", c.proxy.Stall, c.between(time.Second, 6*time.Second))
}

// cut ends all connections between the workers and the server, and refuses new ones for a while.
func (c *chaos) cut(ctx context.Context, _ string) error {
	return c.network(ctx, "cut", c.proxy.Cut, c.between(300*time.Millisecond, 5*time.Second))
}

// network disturbs the network for some time. One disturbance of it is under way at a time.
func (c *chaos) network(ctx context.Context, what string, begin func(), d time.Duration) error {
	if !c.networking.TryLock() {
		return errNothing
	}
	began := time.Now()
	begin()
	c.later.Go(func() {
		defer c.networking.Unlock()
		_ = pause(ctx, d)
		c.proxy.Restore()
		c.ledger.disturbed("", what, began)
	})
	return nil
}

// killServer kills the server, once in a run, and starts it again on its data.
func (c *chaos) killServer(ctx context.Context, _ string) error {
	if c.ledger.disturbances()[serverKilled] > 0 {
		return errNothing
	}
	c.restartServer(ctx, true)
	return nil
}

// terminate ends an agent's run from outside and resumes the agent.
func (c *chaos) terminate(ctx context.Context, id string) error {
	if err := c.Temporal.TerminateWorkflow(ctx, id, "", "test"); err != nil {
		return err
	}
	return c.resume(ctx, id)
}

// cancel cancels an agent and resumes it when it has ended.
func (c *chaos) cancel(ctx context.Context, id string) error {
	if _, err := c.Client.Cancel(ctx, id); err != nil {
		return err
	}
	return c.resume(ctx, id)
}

// resume resumes an agent when it has ended, unless it has completed.
func (c *chaos) resume(ctx context.Context, id string) error {
	c.later.Go(func() {
		began := time.Now()
		err := until(ctx, id+" is resumed", func(ctx context.Context) (bool, error) {
			look, err := c.Client.Look(ctx, id)
			switch {
			case err != nil && !errors.Is(err, reagent.ErrNoWorker):
				return false, err
			case !look.Status.Ended():
				// It goes on by another resume, or its cancel is not done yet; its end is seen by who plays it.
				return time.Since(began) > 5*time.Second, nil
			}
			_, err = c.Client.Resume(ctx, id, reagent.ResumeOptions{})
			return err == nil || errors.Is(err, reagent.ErrNotResumable), err
		})
		if err != nil {
			c.T.Logf("%v", err)
		}
	})
	return nil
}

// sendAndCancel sends an agent a message and cancels it at once. The message is sent until it is accepted.
func (c *chaos) sendAndCancel(ctx context.Context, id string) error {
	if !slices.ContainsFunc(c.all, func(a cast) bool { return a.id == id && len(a.senders) > 0 }) {
		return errNothing
	}
	look, err := c.Client.Read(ctx, id)
	if err != nil || look.Status.Ended() {
		return errors.Join(err, errNothing)
	}
	c.extra++
	m := reagent.Message{ID: fmt.Sprint("extra-", c.extra), Text: fmt.Sprint("say ", 9000+c.extra)}
	sent := make(chan error, 1)
	go func() {
		_, err := c.Client.Send(ctx, id, m)
		sent <- err
	}()
	_, err = c.Client.Cancel(ctx, id)
	c.later.Go(func() {
		if <-sent == nil {
			c.mu.Lock()
			c.extras[id] = append(c.extras[id], m)
			c.mu.Unlock()
		} else {
			c.mu.Lock()
			c.perhaps[m.Text] = true
			c.mu.Unlock()
		}
	})
	return errors.Join(err, c.resume(ctx, id))
}

// resetNewest resets an agent's newest run to its first, a middle or its last task, sometimes twice.
func (c *chaos) resetNewest(ctx context.Context, id string) error {
	found, err := c.Temporal.DescribeWorkflowExecution(ctx, id, "")
	if err != nil {
		return err
	}
	run := found.GetWorkflowExecutionInfo().GetExecution().GetRunId()
	err = c.resetRun(ctx, id, run)
	if c.random.IntN(4) == 0 {
		err = errors.Join(err, c.resetRun(ctx, id, run))
	}
	return err
}

// resetOlder resets an earlier run of an agent.
func (c *chaos) resetOlder(ctx context.Context, id string) error {
	runs, err := history.Runs(ctx, c.Temporal, id)
	if err != nil || len(runs) < 2 {
		return errors.Join(err, errNothing)
	}
	return c.resetRun(ctx, id, runs[1+c.random.IntN(len(runs)-1)])
}

// resetRun resets a run to one of its tasks. Where earlier runs were deleted it is one after the run has read its state.
func (c *chaos) resetRun(ctx context.Context, id, run string) error {
	h, err := historyOf(ctx, c.Temporal, id, run)
	if err != nil {
		return err
	}
	var tasks []int64
	for _, e := range h.GetEvents() {
		if e.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED && (!c.isForgotten(id) || e.GetEventId() > stateRead(h)) {
			tasks = append(tasks, e.GetEventId())
		}
	}
	if len(tasks) == 0 {
		return errNothing
	}
	task := tasks[[]int{0, len(tasks) / 2, len(tasks) - 1, c.random.IntN(len(tasks))}[c.random.IntN(4)]]
	_, err = c.Temporal.ResetWorkflowExecution(ctx, &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: "default", WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: id, RunId: run},
		Reason: "test", WorkflowTaskFinishEventId: task, RequestId: uuid.NewString(),
	})
	return err
}

// stateRead returns the event after which a run needs no earlier run for its state; the largest number where it still does.
func stateRead(h *historypb.History) int64 {
	reads := map[int64]bool{}
	for _, e := range h.GetEvents() {
		if s := e.GetActivityTaskScheduledEventAttributes(); s != nil {
			switch s.GetActivityType().GetName() {
			case "ReadAgent":
				reads[e.GetEventId()] = true
			default:
				if len(reads) == 0 {
					return 0 // it began with an effect
				}
			}
		}
		if done := e.GetActivityTaskCompletedEventAttributes(); done != nil && reads[done.GetScheduledEventId()] {
			return e.GetEventId()
		}
	}
	return 1 << 62
}

// deleteEarlier deletes the closed runs of an agent but its newest, the oldest first as Temporal's retention does, and
// keeps their histories for the verdict.
func (c *chaos) deleteEarlier(ctx context.Context, id string) error {
	runs, err := history.Runs(ctx, c.Temporal, id)
	if err != nil || len(runs) < 2 {
		return errors.Join(err, errNothing)
	}
	newest, err := c.Temporal.DescribeWorkflowExecution(ctx, id, "")
	if err != nil {
		return err
	}
	now := newest.GetWorkflowExecutionInfo().GetExecution().GetRunId()
	h, err := historyOf(ctx, c.Temporal, id, now)
	if err != nil || stateRead(h) > int64(len(h.GetEvents())) {
		return errors.Join(err, errNothing)
	}
	// A run is kept until the next run has searched it for messages. Retention is far longer than that takes.
	options, err := config.ClientOptions("", "")
	if err != nil {
		return err
	}
	read, err := history.Read(ctx, c.Temporal, agent.RunRef{ID: id, RunID: now}, options.DataConverter)
	if err != nil || read.State == nil || read.State.Reset != read.State.Searched {
		return errors.Join(err, errNothing)
	}
	for _, run := range slices.Backward(runs) {
		if run == now {
			continue
		}
		if err := c.deleteRun(ctx, id, id, run); err != nil {
			return err
		}
	}
	return nil
}

// deleteRun deletes a run of an agent, or of a sub-agent below the agent root, and keeps its history.
func (c *chaos) deleteRun(ctx context.Context, root, id, run string) error {
	h, err := historyOf(ctx, c.Temporal, id, run)
	if isGone(err) {
		return nil
	}
	if err == nil && !history.Closes(h.GetEvents()[len(h.GetEvents())-1].GetEventType()) {
		err = errNothing // it would be terminated
	}
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.forgotten[root], c.forgotten[id] = true, true
	c.kept[run] = deleted{id, h}
	c.mu.Unlock()
	_, err = c.Temporal.WorkflowService().DeleteWorkflowExecution(ctx, &workflowservice.DeleteWorkflowExecutionRequest{
		Namespace: "default", WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: id, RunId: run},
	})
	if isGone(err) {
		return nil
	}
	return err
}

// childOf returns the ID of a sub-agent of an agent, at any depth.
func (c *chaos) childOf(ctx context.Context, id string) (string, error) {
	snap, err := c.Client.Read(ctx, id)
	if err != nil || len(snap.Children) == 0 {
		return "", errors.Join(err, errNothing)
	}
	child := snap.Children[c.random.IntN(len(snap.Children))].ID
	if below, err := c.childOf(ctx, child); err == nil && c.random.IntN(2) == 0 {
		return below, nil
	}
	return child, nil
}

// terminateChild terminates a sub-agent and resumes it.
func (c *chaos) terminateChild(ctx context.Context, id string) error {
	child, err := c.childOf(ctx, id)
	if err != nil {
		return err
	}
	return c.terminate(ctx, child)
}

// resetChild resets a sub-agent's newest run.
func (c *chaos) resetChild(ctx context.Context, id string) error {
	child, err := c.childOf(ctx, id)
	if err != nil {
		return err
	}
	return c.resetNewest(ctx, child)
}

// deleteChild deletes the history of a sub-agent that has ended: what its parent knows of it stays.
func (c *chaos) deleteChild(ctx context.Context, id string) error {
	child, err := c.childOf(ctx, id)
	if err != nil {
		return err
	}
	look, err := c.Client.Read(ctx, child)
	if err != nil || !look.Status.Ended() {
		return errors.Join(err, errNothing)
	}
	runs, err := history.Runs(ctx, c.Temporal, child)
	if err != nil {
		return err
	}
	for _, run := range slices.Backward(runs) {
		if err := c.deleteRun(ctx, id, child, run); err != nil {
			return err
		}
	}
	return nil
}

func (c *chaos) isForgotten(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.forgotten[id]
}

// deleted is a run that was deleted, and its history.
type deleted struct {
	id      string
	history *historypb.History
}

// calm undoes what is still under way.
func (c *chaos) calm() { c.later.Wait() }
