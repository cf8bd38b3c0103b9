package faults_test

import (
	"context"
	"errors"
	"slices"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	sdk "go.temporal.io/sdk/client"

	"github.com/reagent-dev/reagent/agent"
	reagent "github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/internal/testkit/fault"
	"github.com/reagent-dev/reagent/workflows"
)

// disturbance describes something that a test does to an agent once, such as killing its worker, and the consequences that
// the test expects.
type disturbance struct {
	name string
	// occurs reports whether the disturbance is possible in a scenario; nil means in all scenarios.
	occurs func(scenario) bool
	// hold returns the place of the model or tool call that gets no answer until strike allows it; nil means no call.
	hold func(scenario) string
	// prepare is called before the agent starts, strike while it works, and after when it has completed. Each may be nil.
	prepare, strike, after func(*lab)
	// kills is the number of workers that die.
	kills int
	// repeats returns the number of model requests that are repeated; nil means none.
	repeats func(scenario) int
	// cut returns the at-most-once call whose result is [cutOff]; nil means none. Such a call was in flight when its worker died.
	cut func(scenario) string
	// late says that the worker dies after it has reported a result. The next call may already have begun. This call may then be
	// cut off or repeated, too.
	late bool
}

func (d disturbance) occursIn(s scenario) bool { return d.occurs == nil || d.occurs(s) }

// ofParents reports whether a scenario has a sub-agent. It is a value for the field occurs of a [disturbance]. The functions
// after it are values for the fields occurs, hold, cut and repeats.
func ofParents(s scenario) bool { return s.children() }

// ofUpdates reports whether the agent of a scenario gets updates: messages, or decisions of people.
func ofUpdates(s scenario) bool { return s.chat() || s.people }

func atModel(s scenario) string { return s.model }

func atPay(s scenario) string { return s.pay }

func payIsCut(s scenario) string { return s.pay }

func always(scenario) int { return 1 }

func whereParents(s scenario) int { return map[bool]int{true: 1}[s.children()] }

var disturbances = concat(
	modelDisturbances, toolDisturbances("pay"), toolDisturbances("read"), childDisturbances, rollDisturbances, updateDisturbances, runDisturbances,
)

func concat(lists ...[]disturbance) (all []disturbance) {
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}

// dies returns a disturbance in which the worker kills itself at the point p. The results of the function in the parameter
// words, and the parameter pass, select the agent and the time: see [fault.Arm].
func dies(p fault.Point, words func(scenario) []string, pass int) disturbance {
	return disturbance{
		name: string(p), kills: 1,
		prepare: func(l *lab) { l.arm(p, pass, words(l.scenario)...) },
		strike:  (*lab).workerDies,
	}
}

// reports returns d with the field late set: the worker dies after it has reported a result.
func (d disturbance) reports() disturbance { d.late = true; return d }

func (d disturbance) where(occurs func(scenario) bool) disturbance { d.occurs = occurs; return d }

func (d disturbance) asks(repeats func(scenario) int) disturbance { d.repeats = repeats; return d }

// modelDisturbances are deaths of a worker before, during and after a model call of the innermost agent: see [scenario].
var modelDisturbances = func() []disturbance {
	inner := func(s scenario) []string { return []string{s.inner} }
	return []disturbance{
		dies(fault.ModelTaken, inner, 1),
		{
			name: "model.asked", kills: 1, repeats: always,
			prepare: func(l *lab) { l.far.asked = l.killAt(l.scenario.model) },
			strike:  (*lab).workerDies,
		},
		dies(fault.ModelAnswered, inner, 1).asks(always),
		dies(fault.ModelReported, inner, 1).reports(),
	}
}()

func toolDisturbances(tool string) []disturbance {
	words := func(s scenario) []string { return []string{s.inner, "far." + tool} }
	at := func(l *lab) string { return map[string]string{"read": l.scenario.read, "pay": l.scenario.pay}[tool] }
	before := disturbance{
		name: "tool.before", kills: 1, strike: (*lab).workerDies,
		prepare: func(l *lab) { l.far.called = l.killAt(at(l)) },
	}
	after := disturbance{
		name: "tool.after", kills: 1, strike: (*lab).workerDies,
		prepare: func(l *lab) { l.far.paid = l.killAt(at(l)) },
	}
	all := []disturbance{dies(fault.ToolTaken, words, 0), before, after, dies(fault.ToolAnswered, words, 0), dies(fault.ToolReported, words, 0).reports()}
	for i := range all {
		if tool == "pay" && all[i].name != string(fault.ToolReported) {
			all[i].cut = payIsCut
		}
		all[i].name += " (" + tool + ")"
	}
	return all
}

// killAt returns a function for the fields of [far]. The first time that a call at the given place arrives, this function
// kills the worker and returns an error, so that the call gets no answer.
func (l *lab) killAt(place string) func(context.Context, string) error {
	killed := make(chan struct{}, 1)
	killed <- struct{}{}
	return func(_ context.Context, at string) error {
		if at != place {
			return nil
		}
		select {
		case <-killed:
			l.crew.kill(0)
			return errors.New("the worker of this call was killed")
		default:
			return nil
		}
	}
}

var childDisturbances = func() []disturbance {
	parent := func(s scenario) []string { return []string{s.parent} }
	inner := func(s scenario) []string { return []string{s.inner} }
	// A new run of the parent waits for the sub-agent by the activity AwaitAgent. Until this run has begun, the model call of the
	// sub-agent is held.
	attaching, attached := dies(fault.ChildAttaching, parent, 0).asks(always), dies(fault.ChildAttached, parent, 0)
	attaching.hold, attached.hold = atModel, atModel
	attaching.strike = func(l *lab) {
		l.upgradeHeld()
		l.workerDies()
		close(l.held.Open)
	}
	attached.strike = func(l *lab) {
		l.upgradeHeld()
		close(l.held.Open)
		l.workerDies()
	}
	all := []disturbance{
		dies(fault.ChildStarting, parent, 0), dies(fault.ChildStarted, parent, 0).reports(),
		attaching, attached,
		dies(fault.ChildFinishing, inner, 0), dies(fault.ChildFinished, inner, 0).reports(),
	}
	for i := range all {
		all[i] = all[i].where(ofParents)
	}
	return all
}()

// rollDisturbances make an agent continue in a new run. In some of them, the worker dies meanwhile. The new run begins when no
// model or tool call of the agent is running. It does not wait for sub-agents.
var rollDisturbances = func() []disturbance {
	roll := func(p fault.Point) disturbance {
		d := dies(p, func(s scenario) []string { return []string{s.parent} }, 0).asks(whereParents)
		d.hold = atModel
		d.strike = func(l *lab) {
			l.upgradeHeld()
			if l.scenario.children() {
				l.workerDies()
				close(l.held.Open)
			} else {
				close(l.held.Open)
				l.workerDies()
			}
		}
		return d
	}
	return []disturbance{
		{
			name: "continue-as-new", hold: atModel,
			strike: func(l *lab) {
				l.held.Wait(l.T)
				id := l.agent(l.scenario.parent)
				first := l.RunID(id)
				l.upgradeHeld()
				close(l.held.Open)
				l.soon("it goes on in a new run", func() bool { return l.RunID(id) != first })
			},
		},
		{
			name: "continue-as-new, reset to the 1st task", hold: atModel,
			strike: func(l *lab) {
				l.upgradeHeld()
				close(l.held.Open)
			},
			after: func(l *lab) { l.resetTo(func(int) int { return 1 }) },
		},
		roll(fault.RollBefore), roll(fault.RollAfter).reports(),
	}
}()

// upgradeHeld waits until a model call is held, and then asks an agent to continue in a new run. This is the agent that started
// the innermost agent of the scenario. Without sub-agents, it is the only agent.
func (l *lab) upgradeHeld() {
	l.held.Wait(l.T)
	id := l.agent(l.scenario.parent)
	l.soon("it is asked to go on in a new run", func() bool { return l.Client.Upgrade(l.ctx, id) == nil })
}

var updateDisturbances = []disturbance{
	dies(fault.UpdateBefore, func(scenario) []string { return nil }, 0).where(ofUpdates),
	dies(fault.UpdateAfter, func(scenario) []string { return nil }, 0).where(ofUpdates).reports(),
}

// runDisturbances end or reset a run while its worker stays alive. No call is cut off and no model request is repeated, because
// the call in flight goes on in the worker, and the next run waits for it.
var runDisturbances = []disturbance{
	{name: "terminate in a model call, resume", hold: atModel, strike: (*lab).terminateHeld},
	{name: "terminate in a tool call, resume", hold: atPay, strike: (*lab).terminateHeld},
	{name: "timeout in a model call, resume", hold: atModel, prepare: (*lab).startShort, strike: (*lab).timeOutHeld},
	{
		name: "terminate, resume, reset to the 1st task", hold: atModel, strike: (*lab).terminateHeld,
		after: func(l *lab) { l.resetTo(func(int) int { return 1 }) },
	},
	{name: "reset, terminate unseen, resume", after: (*lab).resetUnseen},
	{name: "reset in a model call", hold: atModel, strike: (*lab).resetHeld},
	{name: "reset in a tool call", hold: atPay, strike: (*lab).resetHeld},
	{name: "reset to the 2nd task", after: func(l *lab) { l.resetTo(func(int) int { return 2 }) }},
	{name: "reset to the middle task", after: func(l *lab) { l.resetTo(func(n int) int { return (n + 1) / 2 }) }},
	{name: "reset to the last task", after: func(l *lab) { l.resetTo(func(n int) int { return n }) }},
}

func (l *lab) terminateHeld() {
	l.held.Wait(l.T)
	began := time.Now()
	require.NoError(l.T, l.Temporal.TerminateWorkflow(l.ctx, l.id, "", "test"))
	l.ledger.disturbed(l.id, "terminated", began)
	l.resume()
}

// resetHeld waits until a call is held, resets the agent to its last completed workflow task, and then lets the call go on.
func (l *lab) resetHeld() {
	l.held.Wait(l.T)
	l.soon("other calls have their results", func() bool {
		snap, err := l.Client.ShowRecorded(l.ctx, l.id)
		open := slices.DeleteFunc(snap.Pending, func(c agent.Call) bool { return c.Waits() })
		return err == nil && len(open) <= 1
	})
	began := time.Now()
	// The last task may come after the task that asked for the held call. Temporal then schedules the call in the new run.
	l.Reset(l.id, "", l.TaskCount(l.id, ""))
	l.ledger.disturbed(l.id, "reset", began)
	close(l.held.Open)
}

// resetUnseen resets the agent and terminates the new run before a worker has seen this run. Then it resumes the agent.
// Messages that Temporal has delivered again are in the history of the terminated run, but no worker has taken them. They
// must not be lost.
func (l *lab) resetUnseen() {
	worker := l.crew.members[0].Cmd.Process
	require.NoError(l.T, worker.Signal(syscall.SIGSTOP))
	began := time.Now()
	l.Reset(l.id, "", 1)
	require.NoError(l.T, l.Temporal.TerminateWorkflow(l.ctx, l.id, "", "test"))
	l.ledger.disturbed(l.id, "reset, terminated", began)
	require.NoError(l.T, worker.Signal(syscall.SIGCONT))
	_, err := l.Client.Resume(l.ctx, l.id, reagent.ResumeOptions{})
	require.NoError(l.T, err)
	ctx, cancel := context.WithTimeout(l.ctx, world.Patience)
	defer cancel()
	if l.scenario.chat() {
		require.NoError(l.T, answered(ctx, l.Client, l.id, l.scenario.messages[len(l.scenario.messages)-1]))
		require.NoError(l.T, closed(ctx, l.Client, l.id))
	}
	require.NoError(l.T, completed(ctx, l.Client, l.id))
}

// resume resumes the agent, which has ended, and lets the held call go on.
func (l *lab) resume() {
	started, err := l.Client.Resume(l.ctx, l.id, reagent.ResumeOptions{})
	require.NoError(l.T, err)
	require.False(l.T, started.Found)
	close(l.held.Open)
}

// startShort starts the agent with a run timeout of 4 seconds.
func (l *lab) startShort() {
	in := agent.Start{Agent: l.scenario.agent(), Mode: agent.Task, Incarnation: uuid.NewString(), Message: &agent.QueuedMessage{ID: "first", Text: l.scenario.messages[0]}}
	if l.scenario.chat() {
		in.Mode = agent.Chat
	}
	_, err := l.Temporal.ExecuteWorkflow(l.ctx, sdk.StartWorkflowOptions{
		ID: l.id, TaskQueue: l.Queue, WorkflowRunTimeout: 4 * time.Second, Memo: workflows.Memo(in),
	}, protocol.AgentWorkflow, in)
	require.NoError(l.T, err)
}

func (l *lab) timeOutHeld() {
	l.soon("its time is up", func() bool {
		snap, err := l.Client.ShowRecorded(l.ctx, l.id)
		return err == nil && snap.Status == reagent.TimedOut
	})
	l.held.Wait(l.T) // without a call in flight, the case would show nothing
	l.ledger.disturbed(l.id, "timed out", time.Now())
	l.resume()
}

// resetTo resets the agent, which has completed, and waits until it has completed again. The function task gets the number of
// completed workflow tasks. It returns the number of the task to which the agent is reset, counted from 1.
func (l *lab) resetTo(task func(count int) int) {
	began := time.Now()
	l.Reset(l.id, "", task(l.TaskCount(l.id, "")))
	l.ledger.disturbed(l.id, "reset", began)
	require.NoError(l.T, completed(l.ctx, l.Client, l.id))
}
