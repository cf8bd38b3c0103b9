package workflows_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// notified gives the agents of a bench a hook for all occasions. It returns a function that returns the notifications of all attempts.
func (b *bench) notified(deliver func(ctx context.Context, in protocol.NotifyInput) error) func() []protocol.NotifyInput {
	var all []protocol.NotifyInput
	b.def.Notify = []agent.Hook{{Name: "pager", On: agent.Occasions()}}
	b.def.Tools[1].Approval = true // pay
	b.RegisterActivityWithOptions(func(ctx context.Context, in protocol.NotifyInput) error {
		b.mu.Lock()
		all = append(all, in)
		b.mu.Unlock()
		if id := activity.GetInfo(ctx).ActivityID; id != string(in.Key) {
			return temporal.NewNonRetryableApplicationError("the activity has the ID "+id, "", nil)
		}
		return deliver(ctx, in)
	}, activity.RegisterOptions{Name: protocol.Notify})
	return func() []protocol.NotifyInput {
		b.mu.Lock()
		defer b.mu.Unlock()
		return all
	}
}

func delivered(context.Context, protocol.NotifyInput) error { return nil }

// pays is a model that asks for one payment and then answers.
var pays = map[int]llm.Reply{1: llmtest.Call(llmtest.ToolCall("1", "pay", `{"n":1}`)), 3: llmtest.Say("done")}

// approve lets a person approve all calls that wait, after the given time.
func (b *bench) approve(t *testing.T, after time.Duration) {
	b.RegisterDelayedCallback(func() {
		value, err := b.QueryWorkflow(protocol.PendingQuery)
		require.NoError(t, err)
		var calls []agent.Call
		require.NoError(t, value.Get(&calls))
		for _, c := range calls {
			b.UpdateWorkflowNoRejection(protocol.DecideUpdate, string(c.Key), t, agent.Decision{Key: c.Key, Approve: true})
		}
	}, after)
}

// An agent notifies a hook once when a call begins to wait, whatever happens during the wait, and once at its end.
func TestHookIsNotifiedOncePerWaitAndAtTheEnd(t *testing.T) {
	b := newBench(t)
	b.model = replies(pays)
	all := b.notified(delivered)
	for n := range 3 {
		id := fmt.Sprint("r", n)
		b.RegisterDelayedCallback(func() { b.UpdateWorkflowNoRejection(protocol.ResumeLostUpdate, id, t, id) }, time.Duration(n+1)*time.Hour)
	}
	b.approve(t, 5*time.Hour)
	b.start(agent.Task, "go")
	require.NoError(t, b.GetWorkflowError())
	require.Len(t, all(), 2)
	waits, ended := all()[0], all()[1]
	require.Equal(t, agent.OnWaits, waits.On)
	require.Equal(t, "x", waits.Agent)
	require.Equal(t, agent.Waiting, waits.Status)
	require.Equal(t, agent.WaitsForApproval, waits.WaitsFor)
	require.Len(t, waits.Calls, 1)
	require.JSONEq(t, `{"n":1}`, waits.Calls[0].Arguments)
	require.Equal(t, agent.OnEnded, ended.On)
	require.Equal(t, agent.Completed, ended.Status)
	require.Equal(t, "done", ended.Answer)
	require.NotEqual(t, waits.Key, ended.Key)
}

// A turn that an error holds is told, and so is the next hold. Only a root agent notifies of its end.
func TestHookIsNotifiedOfEachHold(t *testing.T) {
	b := newBench(t)
	b.model = replies(nil)
	all := b.notified(delivered)
	b.RegisterDelayedCallback(func() {
		b.UpdateWorkflowNoRejection(protocol.MessageUpdate, "m", t, agent.QueuedMessage{ID: "m", Text: "try again"})
	}, time.Hour)
	b.RegisterDelayedCallback(func() { b.UpdateWorkflowNoRejection(protocol.CloseUpdate, "c", t) }, 2*time.Hour)
	b.ExecuteWorkflow(protocol.AgentWorkflow, agent.Start{
		Agent: "x", Mode: agent.Chat, KeyVersion: agent.KeyVersion, Incarnation: "l", Depth: 1, Parent: "above",
		Message: &agent.QueuedMessage{ID: "first", Text: "go"},
	})
	require.Error(t, b.GetWorkflowError())
	require.Len(t, all(), 2)
	for _, n := range all() {
		require.Equal(t, agent.OnHeld, n.On)
		require.Equal(t, "above", n.Parent)
		require.Equal(t, string(llm.InvalidRequest), n.Class)
	}
	require.NotEqual(t, all()[0].Key, all()[1].Key)
}

// A hook that fails changes nothing about the agent: the turn goes on meanwhile, and the end comes after a minute at the latest.
func TestFailingHookBlocksNothing(t *testing.T) {
	b := newBench(t)
	b.model = replies(pays)
	all := b.notified(func(context.Context, protocol.NotifyInput) error { return errors.New("the hook is down") })
	var answered time.Time
	b.SetOnActivityCompletedListener(func(info *activity.Info, _ converter.EncodedValue, _ error) {
		if info.ActivityType.Name == protocol.CallModel {
			answered = b.Now()
		}
	})
	began := b.Now()
	b.approve(t, 5*time.Second)
	b.start(agent.Task, "go")
	var result protocol.Result
	require.NoError(t, b.GetWorkflowResult(&result))
	require.Equal(t, "done", result.Answer)
	require.Less(t, answered.Sub(began), 10*time.Second, "the turn does not wait for the hook")
	require.LessOrEqual(t, b.Now().Sub(answered), time.Minute+time.Second)
	attempts := map[agent.Occasion]int{}
	for _, n := range all() {
		attempts[n.On]++
	}
	require.Greater(t, attempts[agent.OnWaits], 1)
	require.Greater(t, attempts[agent.OnEnded], 1)
}

// A continue-as-new does not wait for a notification. The next run delivers it under the same key, and none that was delivered.
func TestNotificationsOutliveAContinueAsNew(t *testing.T) {
	for name, down := range map[string]bool{"delivered": false, "in flight": true} {
		t.Run(name, func(t *testing.T) {
			first := newBench(t)
			first.model = replies(pays)
			all := first.notified(func(context.Context, protocol.NotifyInput) error {
				if down {
					return errors.New("the hook is down")
				}
				return nil
			})
			first.RegisterDelayedCallback(func() { first.UpdateWorkflowNoRejection(protocol.UpgradeUpdate, "u", t) }, 5*time.Second)
			began := first.Now()
			first.start(agent.Chat, "go")
			var next *workflow.ContinueAsNewError
			require.ErrorAs(t, first.GetWorkflowError(), &next)
			require.Less(t, first.Now().Sub(began), 10*time.Second)
			var in agent.Start
			require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(next.Input, &in))

			second := newBench(t)
			second.model = replies(pays)
			again := second.notified(delivered)
			second.approve(t, time.Hour)
			second.RegisterDelayedCallback(func() { second.UpdateWorkflowNoRejection(protocol.CloseUpdate, "c", t) }, 2*time.Hour)
			second.SetContinuedExecutionRunID("the run before")
			second.ExecuteWorkflow(protocol.AgentWorkflow, in)
			require.NoError(t, second.GetWorkflowError())
			notified := again()
			if down {
				require.Equal(t, all()[0], notified[0])
				notified = notified[1:]
			}
			require.Len(t, notified, 1)
			require.Equal(t, agent.OnEnded, notified[0].On)
		})
	}
}
