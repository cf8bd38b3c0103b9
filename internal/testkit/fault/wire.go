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

	"github.com/reagent-dev/reagent/internal/protocol"
)

// DialOptions returns options for a connection to Temporal. With these options, the process kills itself at the points for
// which [Arm] was called. If the environment variable [Env] is empty, DialOptions returns nil. The data converter `c` decodes
// the inputs of activities, because the words of Arm may occur there. If `c` is nil, DialOptions uses the SDK's default data
// converter.
func DialOptions(c converter.DataConverter) []grpc.DialOption {
	dir := os.Getenv(Env)
	if dir == "" {
		return nil
	}
	w := newWire(c, (&folder{dir: dir, die: die}).reach)
	return []grpc.DialOption{grpc.WithChainUnaryInterceptor(w.intercept)}
}

// wire intercepts the requests of a worker's connection to Temporal. At each [Point], it calls the function `reach`.
type wire struct {
	converter converter.DataConverter
	reach     func(p Point, subject string)

	mu sync.Mutex
	// tasks has the tasks that the worker has received, by their tokens. No task is removed from it: a worker may report the end of
	// a task twice, and both reports need the entry. The map stays small, because a test process runs only for minutes.
	tasks map[string]task
}

type task struct {
	activity string // activity type; empty for a workflow task
	workflow string // workflow ID
	subject  string // the text in which the words of [Arm] are searched: workflow ID and activity input
}

func newWire(c converter.DataConverter, reach func(Point, string)) *wire {
	if c == nil {
		c = converter.GetDefaultDataConverter()
	}
	return &wire{converter: c, reach: reach, tasks: map[string]task{}}
}

// around has the points before and after one request. An empty [Point] means that there is no such point.
type around struct{ before, after Point }

var (
	// taken has, by activity type, the point that a worker reaches when it has received a task of the activity.
	taken = map[string]Point{
		protocol.CallModel: ModelTaken, protocol.CallTool: ToolTaken, protocol.AwaitAgent: ChildAttaching,
	}
	// reported has, by activity type, the points before and after a worker reports the result of the activity.
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

// come must be called when the process reaches the point `p` with the task `t`. It calls `w.reach` with the point and the
// subject of the task. If `p` is empty, there is no point, and come does nothing.
func (w *wire) come(p Point, t task) {
	if p != "" {
		w.reach(p, t.subject)
	}
}

// points returns the points that the worker reaches before and after it sends a request. It also returns the task whose
// result the request reports. For a request that reports no result, points returns a zero task and no points.
//
// For the result of an activity, there is one pair of points. For the result of a workflow task, there is one pair for each
// workflow command, and one more if the result answers an update.
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

// take looks for a task in a reply of Temporal to the worker, and remembers it. [wire.points] needs the task when the worker
// reports the task's result. Only the replies to polls and to results of workflow tasks have tasks. For an activity task, take
// also calls [wire.come] with the fault point that the map [taken] has for this kind of activity.
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
