package lab

import (
	"context"
	"errors"
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
	"github.com/reagent-dev/reagent/history"
	"github.com/reagent-dev/reagent/internal/dial"
)

// blow is one kind of disturbance. TestChaos chooses among the kinds at random while the agents work.
type blow struct {
	name string
	// weight is how often this kind is chosen, relative to the other kinds.
	weight int
	// do causes the disturbance. The parameter id is the ID of the agent to disturb. A disturbance of all agents ignores the ID.
	// The error says that the disturbance failed. A part of it may have happened.
	do func(c *chaos, ctx context.Context, id string) error
	// all is true if the disturbance affects all agents. Such a disturbance records itself in the ledger.
	all bool
}

// errNothing says that a disturbance is not possible at the moment, for example because the agent has ended.
var errNothing = errors.New("there is nothing to disturb")

var blows = []blow{
	{name: "kill", weight: 10, all: true, do: func(c *chaos, _ context.Context, _ string) error {
		c.crew.Kill(c.random.IntN(len(c.crew.members)))
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
	{name: interrupted, weight: 8, do: func(c *chaos, ctx context.Context, id string) error { return c.interrupt(ctx, id) }},
	{name: "revoke", weight: 8, do: (*chaos).revoke},
	{name: "upgrade", weight: 12, do: func(c *chaos, ctx context.Context, id string) error {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		return c.Client.Upgrade(ctx, id)
	}},
}

// disturbUntil causes random disturbances until the channel in the parameter done delivers a value, and returns this value.
// The value arrives when all agents have ended. After the duration c.storm, disturbUntil causes no more disturbances and only
// waits.
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
		if c.without[b.name] || !b.all && c.troubled[id] >= c.troubles {
			return
		}
		began := time.Now()
		// A disturbance that failed is recorded, too, because a part of it may have happened.
		err := b.do(c, ctx, id)
		if err == nil {
			c.count(b.name)
		}
		if !b.all {
			c.troubled[id]++
			c.ledger.disturbed(id, b.name, began)
		}
		c.T.Logf("%5.1fs %s %s: %v", began.Sub(c.began).Seconds(), b.name, id, err)
		return
	}
}

// freeze stops a random worker process with SIGSTOP and lets it continue after 1 to 6 seconds. By then, Temporal may have given
// the worker's tasks to another worker.
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

// stall makes the proxy between the workers and the Temporal server hold back all bytes for 1 to 6 seconds. The connections
// stay open.
func (c *chaos) stall(ctx context.Context, _ string) error {
	return c.network(ctx, "stall", c.proxy.Stall, c.between(time.Second, 6*time.Second))
}

// cut makes the proxy between the workers and the Temporal server close all connections, and each new connection, for 0.3 to 5
// seconds.
func (c *chaos) cut(ctx context.Context, _ string) error {
	return c.network(ctx, "cut", c.proxy.Cut, c.between(300*time.Millisecond, 5*time.Second))
}

// network disturbs the network by a call of the function in the parameter begin. After the duration d, a goroutine ends the
// disturbance. The parameter what names the disturbance in the [Ledger]. If the network is already disturbed, the error is
// [errNothing].
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

// killServer kills the Temporal server with SIGKILL and starts it again with the same data. It does this once for each seed;
// the error of later calls is [errNothing].
func (c *chaos) killServer(ctx context.Context, _ string) error {
	if c.ledger.disturbances()[serverKilled] > 0 {
		return errNothing
	}
	c.restartServer(ctx, true)
	return nil
}

// terminate terminates the newest run of an agent and then resumes the agent: see [chaos.resume].
func (c *chaos) terminate(ctx context.Context, id string) error {
	if err := c.Temporal.TerminateWorkflow(ctx, id, "", "test"); err != nil {
		return err
	}
	return c.resume(ctx, id)
}

// cancel cancels an agent and the sub-agents below it, and then resumes the agent: see [chaos.resume].
func (c *chaos) cancel(ctx context.Context, id string) error {
	if _, err := c.Client.Cancel(ctx, id); err != nil {
		return err
	}
	return c.resume(ctx, id)
}

// resume starts a goroutine that resumes an agent as soon as the agent has ended. The goroutine does nothing if the agent has
// completed, or if the agent is still running after 5 seconds. The error is always nil.
func (c *chaos) resume(ctx context.Context, id string) error {
	c.later.Go(func() {
		began := time.Now()
		err := until(ctx, id+" is resumed", func(ctx context.Context) (bool, error) {
			look, err := c.Client.Describe(ctx, id)
			switch {
			case err != nil && !errors.Is(err, reagent.ErrNoWorker):
				return false, err
			case !look.Status.Ended():
				// Another call has resumed the agent, or the agent has not ended yet. In the second case, chaos.end resumes it.
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

// sendAndCancel sends a message to an agent and cancels the agent at the same time. Then it resumes the agent. If the agent
// has accepted the message, or if this is not known, sendAndCancel records the message in c.extras.
func (c *chaos) sendAndCancel(ctx context.Context, id string) error {
	if !slices.ContainsFunc(c.all, func(a cast) bool { return a.id == id && len(a.senders) > 0 }) {
		return errNothing
	}
	look, err := c.Client.ShowRecorded(ctx, id)
	if err != nil || look.Status.Ended() {
		return errors.Join(err, errNothing)
	}
	m := c.extras.next("say")
	sent := make(chan error, 1)
	go func() {
		_, err := c.Client.Send(ctx, id, m)
		sent <- err
	}()
	_, err = c.Client.Cancel(ctx, id)
	c.later.Go(func() { c.extras.sent(id, m, <-sent == nil) })
	return errors.Join(err, c.resume(ctx, id))
}

// resetNewest resets the newest run of an agent to one of its workflow tasks: see [chaos.resetRun]. Sometimes it then resets
// the same run again.
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
	c.decideAgain(id)
	return err
}

// resetOlder resets a random run of an agent that is not the newest. If there is only one run, the error is [errNothing].
func (c *chaos) resetOlder(ctx context.Context, id string) error {
	runs, err := history.Runs(ctx, c.Temporal, id)
	if err != nil || len(runs) < 2 {
		return errors.Join(err, errNothing)
	}
	defer c.decideAgain(id)
	return c.resetRun(ctx, id, runs[1+c.random.IntN(len(runs)-1)])
}

// decideAgain lets people decide again on the calls of an agent that was reset, if runs of the agent were deleted. The agent cannot find
// the decisions of deleted runs, so it asks again.
func (c *chaos) decideAgain(id string) {
	if c.isForgotten(id) {
		c.people.forget(id)
	}
}

// resetRun resets a run to its first, a middle, its last or a random workflow task. If runs of the agent were deleted, it uses
// only tasks after the event of [stateRead], because the new run cannot read its state from a deleted run.
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
	if err == nil {
		c.count(resetsDone)
	}
	return err
}

// stateRead returns the ID of the event with which a run finished reading its state from an earlier run. From then on, the
// Run does not need the earlier run. The ID is 0 if the run did not have to read a state. It is 1<<62 if the history does not
// show the event yet.
func stateRead(h *historypb.History) int64 {
	reads := map[int64]bool{}
	for _, e := range h.GetEvents() {
		if s := e.GetActivityTaskScheduledEventAttributes(); s != nil {
			switch s.GetActivityType().GetName() {
			case "ReadAgent":
				reads[e.GetEventId()] = true
			default:
				if len(reads) == 0 {
					return 0 // the run began with an effect
				}
			}
		}
		if done := e.GetActivityTaskCompletedEventAttributes(); done != nil && reads[done.GetScheduledEventId()] {
			return e.GetEventId()
		}
	}
	return 1 << 62
}

// deleteEarlier deletes all runs of an agent except the newest, the oldest first, as Temporal's retention does. It keeps
// their histories in c.kept for the checks at the end. If the newest run still needs an earlier run, the error is
// [errNothing].
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
	// The newest run must have searched the earlier runs for messages. In practice, this takes much less time than Temporal's
	// retention period.
	options, err := dial.ClientOptions("", "")
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

// deleteRun deletes a run of the agent with the given ID, and stores its history in c.kept. If the run has not ended, the
// error is [errNothing]. For a sub-agent, the parameter root is the ID of the agent at the top of the tree. Otherwise, root
// is equal to id. deleteRun marks both agents in c.forgotten.
func (c *chaos) deleteRun(ctx context.Context, root, id, run string) error {
	h, err := historyOf(ctx, c.Temporal, id, run)
	if isGone(err) {
		return nil
	}
	if err == nil && !history.Closes(h.GetEvents()[len(h.GetEvents())-1].GetEventType()) {
		err = errNothing // Temporal would terminate the run
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

// childOf returns the ID of a random sub-agent of an agent, at any depth. If there is none, the error is [errNothing].
func (c *chaos) childOf(ctx context.Context, id string) (string, error) {
	snap, err := c.Client.ShowRecorded(ctx, id)
	if err != nil || len(snap.Children) == 0 {
		return "", errors.Join(err, errNothing)
	}
	child := snap.Children[c.random.IntN(len(snap.Children))].ID
	if below, err := c.childOf(ctx, child); err == nil && c.random.IntN(2) == 0 {
		return below, nil
	}
	return child, nil
}

// terminateChild terminates a random sub-agent of an agent and then resumes the sub-agent: see [chaos.resume].
func (c *chaos) terminateChild(ctx context.Context, id string) error {
	child, err := c.childOf(ctx, id)
	if err != nil {
		return err
	}
	return c.terminate(ctx, child)
}

// resetChild resets a run of a random sub-agent of an agent: see [chaos.resetNewest] and [chaos.resetOlder].
func (c *chaos) resetChild(ctx context.Context, id string) error {
	child, err := c.childOf(ctx, id)
	if err != nil {
		return err
	}
	if c.random.IntN(2) == 0 {
		if err := c.resetOlder(ctx, child); !errors.Is(err, errNothing) {
			return err
		}
	}
	return c.resetNewest(ctx, child)
}

// deleteChild chooses a random sub-agent of an agent and deletes all its runs. If the sub-agent has not ended, the error is
// [errNothing]. The agent keeps what it already knows about the sub-agent.
func (c *chaos) deleteChild(ctx context.Context, id string) error {
	child, err := c.childOf(ctx, id)
	if err != nil {
		return err
	}
	look, err := c.Client.ShowRecorded(ctx, child)
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

// deleted holds the history of a run that the test has deleted. The field id is the ID of the agent.
type deleted struct {
	id      string
	history *historypb.History
}

// calm waits until all disturbances that last for some time have ended.
func (c *chaos) calm() { c.later.Wait() }
