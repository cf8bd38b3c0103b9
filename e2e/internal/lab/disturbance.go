package lab

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

// Disturbance describes something that a test does to an agent once, such as killing its worker, and the consequences that
// the test expects.
type Disturbance struct {
	Name string
	// occurs reports whether the disturbance is possible in a scenario; nil means in all scenarios.
	occurs func(Scenario) bool
	// hold returns the place of the model or tool call that gets no answer until strike allows it; nil means no call.
	hold func(Scenario) string
	// prepare is called before the agent starts, strike while it works, and after when it has completed. Each may be nil.
	prepare, strike, after func(*trial)
	// Kills is the number of workers that die.
	Kills int
	// Repeats returns the number of model requests that are repeated; nil means none.
	Repeats func(Scenario) int
	// Cut returns the at-most-once call whose result is [cutOff]; nil means none. Such a call was in flight when its worker died.
	Cut func(Scenario) string
	// Late says that the worker dies after it has reported a result. The next call may already have begun. This call may then be
	// cut off or repeated, too.
	Late bool
}

// OccursIn reports whether the disturbance is possible in a scenario.
func (d Disturbance) OccursIn(s Scenario) bool { return d.occurs == nil || d.occurs(s) }

// ofParents reports whether a scenario has a sub-agent. It is a value for the field occurs of a [Disturbance]. The functions
// after it are values for the fields occurs, hold, cut and repeats.
func ofParents(s Scenario) bool { return s.children() }

// ofUpdates reports whether the agent of a scenario gets updates: messages, or decisions of people.
func ofUpdates(s Scenario) bool { return s.chat() || s.people }

func atModel(s Scenario) string { return s.model }

func atPay(s Scenario) string { return s.pay }

func payIsCut(s Scenario) string { return s.pay }

func always(Scenario) int { return 1 }

func whereParents(s Scenario) int { return map[bool]int{true: 1}[s.children()] }

// Disturbances are all disturbances, at all points.
var Disturbances = concat(
	modelDisturbances, toolDisturbances("pay"), toolDisturbances("read"), childDisturbances, rollDisturbances, updateDisturbances, runDisturbances,
)

func concat(lists ...[]Disturbance) (all []Disturbance) {
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}

// dies returns a disturbance in which the worker kills itself at the point p. The results of the function in the parameter
// words, and the parameter pass, select the agent and the time: see [fault.Arm].
func dies(p fault.Point, words func(Scenario) []string, pass int) Disturbance {
	return Disturbance{
		Name: string(p), Kills: 1,
		prepare: func(l *trial) { l.arm(p, pass, words(l.scenario)...) },
		strike:  (*trial).workerDies,
	}
}

// reports returns d with the field late set: the worker dies after it has reported a result.
func (d Disturbance) reports() Disturbance { d.Late = true; return d }

func (d Disturbance) where(occurs func(Scenario) bool) Disturbance { d.occurs = occurs; return d }

func (d Disturbance) asks(repeats func(Scenario) int) Disturbance { d.Repeats = repeats; return d }

// modelDisturbances are deaths of a worker before, during and after a model call of the innermost agent: see [Scenario].
var modelDisturbances = func() []Disturbance {
	inner := func(s Scenario) []string { return []string{s.inner} }
	return []Disturbance{
		dies(fault.ModelTaken, inner, 1),
		{
			Name: "model.asked", Kills: 1, Repeats: always,
			prepare: func(l *trial) { l.far.asked = l.killAt(l.scenario.model) },
			strike:  (*trial).workerDies,
		},
		dies(fault.ModelAnswered, inner, 1).asks(always),
		dies(fault.ModelReported, inner, 1).reports(),
	}
}()

func toolDisturbances(tool string) []Disturbance {
	words := func(s Scenario) []string { return []string{s.inner, "far." + tool} }
	at := func(l *trial) string { return map[string]string{"read": l.scenario.read, "pay": l.scenario.pay}[tool] }
	before := Disturbance{
		Name: "tool.before", Kills: 1, strike: (*trial).workerDies,
		prepare: func(l *trial) { l.far.called = l.killAt(at(l)) },
	}
	after := Disturbance{
		Name: "tool.after", Kills: 1, strike: (*trial).workerDies,
		prepare: func(l *trial) { l.far.paid = l.killAt(at(l)) },
	}
	all := []Disturbance{dies(fault.ToolTaken, words, 0), before, after, dies(fault.ToolAnswered, words, 0), dies(fault.ToolReported, words, 0).reports()}
	for i := range all {
		if tool == "pay" && all[i].Name != string(fault.ToolReported) {
			all[i].Cut = payIsCut
		}
		all[i].Name += " (" + tool + ")"
	}
	return all
}

// killAt returns a function for the fields of [far]. The first time that a call at the given place arrives, this function
// kills the worker and returns an error, so that the call gets no answer.
func (l *trial) killAt(place string) func(context.Context, string) error {
	killed := make(chan struct{}, 1)
	killed <- struct{}{}
	return func(_ context.Context, at string) error {
		if at != place {
			return nil
		}
		select {
		case <-killed:
			l.crew.Kill(0)
			return errors.New("the worker of this call was killed")
		default:
			return nil
		}
	}
}

var childDisturbances = func() []Disturbance {
	parent := func(s Scenario) []string { return []string{s.parent} }
	inner := func(s Scenario) []string { return []string{s.inner} }
	// A new run of the parent waits for the sub-agent by the activity AwaitAgent. Until this run has begun, the model call of the
	// sub-agent is held.
	attaching, attached := dies(fault.ChildAttaching, parent, 0).asks(always), dies(fault.ChildAttached, parent, 0)
	attaching.hold, attached.hold = atModel, atModel
	attaching.strike = func(l *trial) {
		l.upgradeHeld()
		l.workerDies()
		close(l.held.Open)
	}
	attached.strike = func(l *trial) {
		l.upgradeHeld()
		close(l.held.Open)
		l.workerDies()
	}
	all := []Disturbance{
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
var rollDisturbances = func() []Disturbance {
	roll := func(p fault.Point) Disturbance {
		d := dies(p, func(s Scenario) []string { return []string{s.parent} }, 0).asks(whereParents)
		d.hold = atModel
		d.strike = func(l *trial) {
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
	return []Disturbance{
		{
			Name: "continue-as-new", hold: atModel,
			strike: func(l *trial) {
				l.held.Wait(l.T)
				id := l.agent(l.scenario.parent)
				first := l.RunID(id)
				l.upgradeHeld()
				close(l.held.Open)
				l.soon("it goes on in a new run", func() bool { return l.RunID(id) != first })
			},
		},
		{
			Name: "continue-as-new, reset to the 1st task", hold: atModel,
			strike: func(l *trial) {
				l.upgradeHeld()
				close(l.held.Open)
			},
			after: func(l *trial) { l.resetTo(func(int) int { return 1 }) },
		},
		roll(fault.RollBefore), roll(fault.RollAfter).reports(),
	}
}()

// upgradeHeld waits until a model call is held, and then asks an agent to continue in a new run. This is the agent that started
// the innermost agent of the scenario. Without sub-agents, it is the only agent.
func (l *trial) upgradeHeld() {
	l.held.Wait(l.T)
	id := l.agent(l.scenario.parent)
	l.soon("it is asked to go on in a new run", func() bool { return l.Client.Upgrade(l.ctx, id) == nil })
}

var updateDisturbances = []Disturbance{
	dies(fault.UpdateBefore, func(Scenario) []string { return nil }, 0).where(ofUpdates),
	dies(fault.UpdateAfter, func(Scenario) []string { return nil }, 0).where(ofUpdates).reports(),
}

// runDisturbances end or reset a run while its worker stays alive. No call is cut off and no model request is repeated, because
// the call in flight goes on in the worker, and the next run waits for it.
var runDisturbances = []Disturbance{
	{Name: "terminate in a model call, resume", hold: atModel, strike: (*trial).terminateHeld},
	{Name: "terminate in a tool call, resume", hold: atPay, strike: (*trial).terminateHeld},
	{Name: "timeout in a model call, resume", hold: atModel, prepare: (*trial).startShort, strike: (*trial).timeOutHeld},
	{
		Name: "terminate, resume, reset to the 1st task", hold: atModel, strike: (*trial).terminateHeld,
		after: func(l *trial) { l.resetTo(func(int) int { return 1 }) },
	},
	{Name: "reset, terminate unseen, resume", after: (*trial).resetUnseen},
	{Name: "reset in a model call", hold: atModel, strike: (*trial).resetHeld},
	{Name: "reset in a tool call", hold: atPay, strike: (*trial).resetHeld},
	{Name: "reset to the 2nd task", after: func(l *trial) { l.resetTo(func(int) int { return 2 }) }},
	{Name: "reset to the middle task", after: func(l *trial) { l.resetTo(func(n int) int { return (n + 1) / 2 }) }},
	{Name: "reset to the last task", after: func(l *trial) { l.resetTo(func(n int) int { return n }) }},
}

func (l *trial) terminateHeld() {
	l.held.Wait(l.T)
	began := time.Now()
	require.NoError(l.T, l.Temporal.TerminateWorkflow(l.ctx, l.id, "", "test"))
	l.ledger.disturbed(l.id, "terminated", began)
	l.resume()
}

// resetHeld waits until a call is held, resets the agent to its last completed workflow task, and then lets the call go on.
func (l *trial) resetHeld() {
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
func (l *trial) resetUnseen() {
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
func (l *trial) resume() {
	started, err := l.Client.Resume(l.ctx, l.id, reagent.ResumeOptions{})
	require.NoError(l.T, err)
	require.False(l.T, started.Found)
	close(l.held.Open)
}

// startShort starts the agent with a run timeout of 4 seconds.
func (l *trial) startShort() {
	in := agent.Start{Agent: l.scenario.agent(), Mode: agent.Task, Incarnation: uuid.NewString(), Message: &agent.QueuedMessage{ID: "first", Text: l.scenario.messages[0]}}
	if l.scenario.chat() {
		in.Mode = agent.Chat
	}
	_, err := l.Temporal.ExecuteWorkflow(l.ctx, sdk.StartWorkflowOptions{
		ID: l.id, TaskQueue: l.Queue, WorkflowRunTimeout: 4 * time.Second, Memo: workflows.Memo(in),
	}, protocol.AgentWorkflow, in)
	require.NoError(l.T, err)
}

func (l *trial) timeOutHeld() {
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
func (l *trial) resetTo(task func(count int) int) {
	began := time.Now()
	l.Reset(l.id, "", task(l.TaskCount(l.id, "")))
	l.ledger.disturbed(l.id, "reset", began)
	require.NoError(l.T, completed(l.ctx, l.Client, l.id))
}
