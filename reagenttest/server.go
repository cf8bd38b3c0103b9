package reagenttest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/google/uuid"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/reagent-dev/reagent"
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/history"
	"github.com/reagent-dev/reagent/internal/app/devserver"
	"github.com/reagent-dev/reagent/internal/protocol"
)

// pollEvery is the time between two looks at an agent on a server.
const pollEvery = 20 * time.Millisecond

// development returns the server that all tests of the process share.
var development = sync.OnceValues(func() (*devserver.Server, error) {
	return devserver.Start(context.Background(), devserver.Options{Progress: os.Stderr, SearchAttributes: protocol.AttributeTypes()})
})

// server is a stage with all workflows of a test, on a Temporal development server, and a worker.
type server struct {
	agents    *Agents
	temporal  client.Client
	address   string
	namespace string

	mu      sync.Mutex
	workers []*crashable // the last one has not crashed
	closed  bool
}

func newServer(a *Agents) (*server, error) {
	dev, err := development()
	if err != nil {
		return nil, err
	}
	s := &server{agents: a, address: dev.Address(), namespace: dev.Namespace()}
	if s.temporal, err = s.dial(); err != nil {
		return nil, err
	}
	return s, nil
}

// work starts the worker, unless it is running.
func (s *server) work() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.workers) > 0 {
		return nil
	}
	return s.begin()
}

// begin starts a worker. The caller holds the lock.
func (s *server) begin() error {
	w, err := newCrashable(s)
	if err != nil {
		return err
	}
	s.workers = append(s.workers, w)
	return nil
}

// replace starts a worker in the place of one that has crashed.
func (s *server) replace() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	if err := s.begin(); err != nil {
		s.agents.t.Errorf("reagenttest: start another worker after the crash: %v", err)
	}
}

func (s *server) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	var all sync.WaitGroup
	for _, w := range s.workers {
		all.Go(w.close)
	}
	all.Wait()
	s.temporal.Close()
}

func (s *server) context() (context.Context, context.CancelFunc) {
	return context.WithTimeout(s.agents.t.Context(), patience)
}

func (s *server) start(o reagent.StartOptions) error {
	if err := s.work(); err != nil {
		return err
	}
	ctx, cancel := s.context()
	defer cancel()
	started, err := reagent.NewClient(s.temporal, s.agents.options.TaskQueue).WithConverter(s.agents.options.Converter).Start(ctx, o)
	if err == nil && started.Found {
		err = fmt.Errorf("an agent with the ID %q exists, because all tests of a process share the server: leave the ID empty, or choose another one", o.ID)
	}
	return err
}

func (s *server) execute(id string, workflow any, args []any) error {
	if err := s.work(); err != nil {
		return err
	}
	ctx, cancel := s.context()
	defer cancel()
	_, err := s.temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: id, TaskQueue: s.agents.options.TaskQueue}, workflow, args...)
	return err
}

// eventually calls a function until it returns true. After an error that may pass, such as that of a query for which no worker is there,
// it calls the function again.
func (s *server) eventually(ok func() (bool, error)) error {
	deadline := time.Now().Add(patience)
	for {
		done, err := ok()
		if done && err == nil || err != nil && !passes(err) {
			return err
		}
		if time.Now().After(deadline) {
			return notSettled(patience, s.agents.attempts.text(), err)
		}
		select {
		case <-time.After(pollEvery):
		case <-s.agents.t.Context().Done():
			return context.Cause(s.agents.t.Context())
		}
	}
}

// passes reports whether an error of a request may pass: no worker answers yet, or the agent is not there yet.
func passes(err error) bool {
	return errors.As(err, new(*serviceerror.QueryFailed)) || errors.As(err, new(*serviceerror.ResourceExhausted)) ||
		errors.As(err, new(*serviceerror.FailedPrecondition)) || errors.As(err, new(*serviceerror.DeadlineExceeded)) ||
		errors.As(err, new(*serviceerror.NotFound)) || errors.As(err, new(*serviceerror.WorkflowNotReady)) ||
		errors.As(err, new(*serviceerror.Unavailable)) || errors.Is(err, context.DeadlineExceeded)
}

func (s *server) settle(settled func(scene) (bool, error)) error {
	return s.eventually(func() (bool, error) { return settled(atOnce{s}) })
}

func (s *server) elapse(time.Duration, func(scene) (bool, error)) error {
	return errors.New("the time of a server cannot be moved: use reagenttest.New in place of reagenttest.OnServer")
}

func (s *server) query(id, name string, out any, args ...any) error {
	return s.eventually(func() (bool, error) { return true, atOnce{s}.query(id, name, out, args...) })
}

func (s *server) update(id, name string, args ...any) error {
	ctx, cancel := s.context()
	defer cancel()
	handle, err := s.temporal.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: id, UpdateName: name, Args: args, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if errors.As(err, new(*serviceerror.NotFound)) {
		return errors.New("the agent has ended, and takes no more messages and decisions")
	}
	if err != nil {
		return err
	}
	return handle.Get(ctx, nil)
}

func (s *server) result(id string, out any) error {
	ctx, cancel := s.context()
	defer cancel()
	return s.temporal.GetWorkflow(ctx, id, "").Get(ctx, out)
}

// reset resets the newest run to the last workflow task after which the transcript had at most the given number of messages.
func (s *server) reset(id string, messages int) error {
	ctx, cancel := s.context()
	defer cancel()
	run, err := s.describe(ctx, id)
	if err != nil {
		return err
	}
	runID := run.GetWorkflowExecutionInfo().GetExecution().GetRunId()
	var tasks []int64
	for event, err := range history.Events(ctx, s.temporal, agent.RunRef{ID: id, RunID: runID}) {
		if err != nil {
			return err
		}
		if event.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			tasks = append(tasks, event.GetEventId())
		}
	}
	var at int64
	for i := len(tasks) - 1; i >= 0 && at == 0; i-- {
		then, err := history.Read(ctx, s.temporal, agent.RunRef{ID: id, RunID: runID, Events: tasks[i]}, s.agents.options.Converter)
		if err != nil {
			return err
		}
		if then.State == nil || then.State.Count() <= messages {
			at = tasks[i]
		}
	}
	if at == 0 {
		return fmt.Errorf("there is no point at which the transcript had at most %d messages", messages)
	}
	_, err = s.temporal.ResetWorkflowExecution(ctx, &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: s.namespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: id, RunId: runID},
		Reason: "test", WorkflowTaskFinishEventId: at, RequestId: uuid.NewString(),
	})
	return err
}

func (s *server) save(id, file string) error {
	ctx, cancel := s.context()
	defer cancel()
	return saveHistory(ctx, s.temporal, id, file)
}

func (s *server) describe(ctx context.Context, id string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return s.temporal.DescribeWorkflowExecution(ctx, id, "")
}

// atOnce is the scene of a server. It asks once.
type atOnce struct{ *server }

func (s atOnce) query(id, name string, out any, args ...any) error {
	ctx, cancel := context.WithTimeout(s.agents.t.Context(), 10*time.Second)
	defer cancel()
	value, err := s.temporal.QueryWorkflow(ctx, id, "", name, args...)
	if err != nil {
		return err
	}
	return value.Get(out)
}

func (s atOnce) ended(id string) (bool, error) {
	ctx, cancel := s.context()
	defer cancel()
	found, err := s.describe(ctx, id)
	return found.GetWorkflowExecutionInfo().GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, err
}

func (s atOnce) callees(id string) ([]string, error) {
	ctx, cancel := s.context()
	defer cancel()
	found, err := s.describe(ctx, id)
	var running []string
	for _, child := range found.GetPendingChildren() {
		if child.GetWorkflowTypeName() == protocol.AgentWorkflow {
			running = append(running, child.GetWorkflowId())
		}
	}
	return running, err
}
