package reagenttest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent"
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
)

// environment is a stage with one workflow and its sub-agents, in Temporal's test environment.
//
// The test environment runs everything in one goroutine, its loop, and lets time jump to the next timer whenever nothing else is to be done.
// The test acts in another goroutine. So that no time passes meanwhile, the loop is held between two actions of the test: after each event
// that may change an agent, the environment gets a timer of one nanosecond. It fires before every other timer. If the agents have settled
// then, or if no action of the test is waiting, the loop waits for the next action. It does not while activities are in flight, because
// their ends are handled in the loop. Time jumps only when there are none.
type environment struct {
	agents *Agents
	env    *testsuite.TestWorkflowEnvironment
	id     string

	done chan struct{} // closed when the loop has ended
	wake chan struct{}

	mu     sync.Mutex
	queue  []func() // what the test wants to do in the loop
	held   bool     // the loop waits for the test
	over   bool     // the loop has ended
	failed error    // why the loop has ended, if it is no end of the workflow

	// The following are only used in the loop, or after its end.
	armed    bool            // the timer of one nanosecond is set
	begun    map[string]bool // the workflows that have started something. An agent answers queries from then on
	starting map[string]bool // workflows that have not begun
	calling  int             // activities in flight, and sub-agents that have not begun
	until    func() (bool, error)
	reached  chan error
	called   []string // the agents that the workflow has called
}

func newEnvironment(a *Agents, id string) *environment {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	e := &environment{agents: a, env: suite.NewTestWorkflowEnvironment(), id: id, begun: map[string]bool{}, starting: map[string]bool{id: true}, calling: 1, done: make(chan struct{}), wake: make(chan struct{}, 1)}
	e.env.SetTestTimeout(patience)
	e.env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: id, TaskQueue: a.options.TaskQueue})
	e.env.SetOnActivityCompletedListener(func(*activity.Info, converter.EncodedValue, error) { e.activityEnded() })
	e.env.SetOnActivityCanceledListener(func(*activity.Info) { e.activityEnded() })
	e.env.SetOnTimerFiredListener(func(string) { e.arm() })
	e.env.SetOnChildWorkflowStartedListener(func(info *workflow.Info, _ workflow.Context, _ converter.EncodedValues) {
		if info.WorkflowType.Name == protocol.AgentWorkflow && info.ParentWorkflowExecution != nil && info.ParentWorkflowExecution.ID == id {
			e.called = append(e.called, info.WorkflowExecution.ID)
		}
		e.arm()
	})
	e.env.SetOnChildWorkflowCompletedListener(func(*workflow.Info, converter.EncodedValue, error) { e.arm() })
	e.env.SetOnChildWorkflowCanceledListener(func(*workflow.Info) { e.arm() })
	return e
}

// start starts an agent with the input that a client makes of the options.
func (e *environment) start(o reagent.StartOptions) error {
	action, err := reagent.NewClient(Client(e.env), e.agents.options.TaskQueue).ScheduleAction(o)
	if err != nil {
		return err
	}
	in, _ := action.Args[0].(agent.Start)
	in.Incarnation = uuid.NewString()
	return e.run(protocol.AgentWorkflow, []any{in})
}

func (e *environment) execute(_ string, w any, args []any) error { return e.run(w, args) }

// run starts the loop with a workflow.
func (e *environment) run(w any, args []any) error {
	t := e.agents.t
	plugin, err := reagent.New(t.Context(), Client(e.env), e.agents.watch(func(context.Context, Point) error { return nil }))
	if err != nil {
		return err
	}
	e.env.SetWorkerOptions(worker.Options{Plugins: []worker.Plugin{plugin}, Interceptors: []interceptor.WorkerInterceptor{&observer{of: e}, e.agents.attempts}})
	for _, register := range e.agents.register {
		register(e.env)
	}
	stop := make(chan struct{})
	go func() {
		defer plugin.Close()
		e.loop(w, args)
		for { // the end of the workflow changes nothing for the test
			select {
			case <-e.wake:
				e.drain()
			case <-stop:
				return
			}
		}
	}()
	t.Cleanup(func() {
		defer close(stop)
		if e.isOver() {
			return
		}
		e.do(func() { // the workflow waits for somebody, or for a call
			e.env.CancelWorkflow()
			e.release(func() (bool, error) { return false, nil }, make(chan error, 1))
		})
		select {
		case <-e.done:
		case <-time.After(time.Second): // a call does not end, and keeps its goroutine
		}
	})
	return nil
}

func (e *environment) settle(settled func(scene) (bool, error)) error {
	return e.await(func() {}, func() (bool, error) { return settled(inLoop{e}) })
}

func (e *environment) elapse(d time.Duration, settled func(scene) (bool, error)) error {
	if d <= 0 {
		return fmt.Errorf("%v is no time that can pass: use a positive duration", d)
	}
	passed := false
	return e.await(func() {
		e.env.RegisterDelayedCallback(func() { passed = true; e.arm() }, d)
	}, func() (bool, error) {
		if !passed {
			return e.isOver(), nil
		}
		return settled(inLoop{e})
	})
}

func (e *environment) query(id, name string, out any, args ...any) error {
	return e.await(func() {}, func() (bool, error) {
		err := inLoop{e}.query(id, name, out, args...)
		return !errors.Is(err, errNotBegun), err
	})
}

// errNotBegun says that an agent does not answer queries yet.
var errNotBegun = errors.New("the agent has not begun to work")

func (e *environment) update(id, name string, args ...any) error {
	var outcome error
	completed := e.isOver()
	if completed {
		return errors.New("the agent has ended, and takes no more messages and decisions")
	}
	seen := &testsuite.TestUpdateCallback{
		OnAccept:   func() {},
		OnReject:   func(err error) { completed, outcome = true, err },
		OnComplete: func(_ any, err error) { completed, outcome = true, err },
	}
	err := e.await(func() {
		if id == e.id {
			e.env.UpdateWorkflow(name, uuid.NewString(), seen, args...)
			return
		}
		if err := e.env.UpdateWorkflowByID(id, name, uuid.NewString(), seen, args...); err != nil {
			completed, outcome = true, err
		}
	}, func() (bool, error) { return completed, nil })
	return errors.Join(err, outcome)
}

func (e *environment) result(_ string, out any) error {
	if err := e.env.GetWorkflowError(); err != nil || out == nil {
		return err
	}
	return e.env.GetWorkflowResult(out)
}

func (e *environment) reset(string, int) error { return errNeedsServer }

func (e *environment) save(string, string) error { return errNeedsServer }

// inLoop is the scene of an environment, for functions that the loop calls.
type inLoop struct{ *environment }

func (l inLoop) query(id, name string, out any, args ...any) error {
	if err := l.failure(); err != nil {
		return err
	}
	if !l.begun[id] && !l.isOver() {
		return errNotBegun
	}
	value, err := l.env.QueryWorkflowByID(id, name, args...)
	if errors.As(err, new(*serviceerror.NotFound)) && id == l.id { // the workflow that the test has executed
		value, err = l.env.QueryWorkflow(name, args...)
	}
	if err != nil && id == l.id && l.env.IsWorkflowCompleted() && l.env.GetWorkflowError() != nil {
		return l.env.GetWorkflowError() // it has ended before it could answer queries
	}
	if err != nil {
		return err
	}
	return value.Get(out)
}

func (l inLoop) ended(id string) (bool, error) { return id == l.id && l.env.IsWorkflowCompleted(), nil }

func (l inLoop) callees(string) ([]string, error) {
	var running []string
	for _, id := range slices.Compact(slices.Clone(l.called)) {
		var view protocol.StateView
		if err := l.query(id, protocol.StateQuery, &view); err != nil {
			return nil, err
		}
		if !view.Status.Ended() {
			running = append(running, id)
		}
	}
	return running, nil
}
