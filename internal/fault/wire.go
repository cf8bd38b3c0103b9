//go:build faults

package fault

import (
	"context"
	"os"
	"strings"
	"sync"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/grpc"

	"github.com/reagent-dev/reagent/protocol"
)

// DialOptions returns the options that put the points into a connection to Temporal; nil
// where the environment names no folder. The converter reads the inputs of activities, in which words are looked for;
// nil is the SDK's default.
func DialOptions(c converter.DataConverter) []grpc.DialOption {
	dir := os.Getenv(Env)
	if dir == "" {
		return nil
	}
	w := newWire(c, (&folder{dir: dir, die: die}).reach)
	return []grpc.DialOption{grpc.WithChainUnaryInterceptor(w.intercept)}
}

// wire listens to a connection and tells which points it comes to.
type wire struct {
	converter converter.DataConverter
	reach     func(p Point, subject string)

	mu sync.Mutex
	// tasks are those that the worker was given, by their tokens. None is forgotten: a report
	// may be made again, and the process does not live long.
	tasks map[string]task
}

// task is an activity's or a workflow's.
type task struct {
	activity string // its type; empty of a workflow
	workflow string // its ID
	subject  string // what words are looked for in
}

func newWire(c converter.DataConverter, reach func(Point, string)) *wire {
	if c == nil {
		c = converter.GetDefaultDataConverter()
	}
	return &wire{converter: c, reach: reach, tasks: map[string]task{}}
}

// around are the points before and after one request.
type around struct{ before, after Point }

// taken are the points at which an activity's task has come, reported those around its result.
var (
	taken = map[string]Point{
		protocol.CallModel: ModelTaken, protocol.CallTool: ToolTaken, protocol.AwaitAgent: ChildAttaching,
	}
	reported = map[string]around{
		protocol.CallModel:  {ModelAnswered, ModelReported},
		protocol.CallTool:   {ToolAnswered, ToolReported},
		protocol.AwaitAgent: {before: ChildAttached},
	}
)

func (w *wire) intercept(
	ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
) error {
	t, points := w.points(req)
	for _, p := range points {
		w.come(p.before, t)
	}
	if err := invoke(ctx, method, req, reply, conn, opts...); err != nil {
		return err
	}
	for _, p := range points {
		w.come(p.after, t)
	}
	w.take(reply)
	return nil
}

func (w *wire) come(p Point, t task) {
	if p != "" {
		w.reach(p, t.subject)
	}
}

// points returns the points around a request, and the task that it reports on.
func (w *wire) points(req any) (task, []around) {
	switch req := req.(type) {
	case *workflowservice.RespondActivityTaskCompletedRequest:
		t := w.given(req.GetTaskToken())
		return t, []around{reported[t.activity]}
	case *workflowservice.RespondWorkflowTaskCompletedRequest:
		t := w.given(req.GetTaskToken())
		var points []around
		for _, command := range req.GetCommands() {
			points = append(points, ofCommand(command.GetCommandType(), t))
		}
		if len(req.GetMessages()) > 0 {
			points = append(points, around{UpdateBefore, UpdateAfter})
		}
		return t, points
	}
	return task{}, nil
}

func ofCommand(c enumspb.CommandType, t task) around {
	switch c {
	case enumspb.COMMAND_TYPE_START_CHILD_WORKFLOW_EXECUTION:
		return around{ChildStarting, ChildStarted}
	case enumspb.COMMAND_TYPE_CONTINUE_AS_NEW_WORKFLOW_EXECUTION:
		return around{RollBefore, RollAfter}
	case enumspb.COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION:
		if strings.Contains(t.workflow, "/") { // a sub-agent's ID
			return around{ChildFinishing, ChildFinished}
		}
	}
	return around{}
}

// take remembers the tasks that a reply gives to the worker. Temporal also sends some with
// its reply to a report.
func (w *wire) take(reply any) {
	switch reply := reply.(type) {
	case *workflowservice.PollWorkflowTaskQueueResponse:
		w.takeWorkflow(reply)
	case *workflowservice.PollActivityTaskQueueResponse:
		w.takeActivity(reply)
	case *workflowservice.RespondWorkflowTaskCompletedResponse:
		w.takeWorkflow(reply.GetWorkflowTask())
		for _, eager := range reply.GetActivityTasks() {
			w.takeActivity(eager)
		}
	}
}

func (w *wire) takeWorkflow(t *workflowservice.PollWorkflowTaskQueueResponse) {
	id := t.GetWorkflowExecution().GetWorkflowId()
	w.remember(t.GetTaskToken(), task{workflow: id, subject: id})
}

func (w *wire) takeActivity(t *workflowservice.PollActivityTaskQueueResponse) {
	name, id := t.GetActivityType().GetName(), t.GetWorkflowExecution().GetWorkflowId()
	given := task{activity: name, workflow: id, subject: id}
	for _, text := range w.converter.ToStrings(t.GetInput()) {
		given.subject += " " + text
	}
	w.remember(t.GetTaskToken(), given)
	w.come(taken[name], given)
}

func (w *wire) remember(token []byte, t task) {
	if len(token) == 0 { // a poll that ended without a task
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tasks[string(token)] = t
}

func (w *wire) given(token []byte) task {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tasks[string(token)]
}
