//go:build faults

package fault

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	commandpb "go.temporal.io/api/command/v1"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	protocolpb "go.temporal.io/api/protocol/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/grpc"

	"github.com/reagent-dev/reagent/internal/protocol"
)

func TestNothingIsDoneWithoutAFolder(t *testing.T) {
	t.Setenv(Env, "")
	require.Nil(t, DialOptions(nil))
	require.Nil(t, Interceptors())
	t.Setenv(Env, t.TempDir())
	require.NotEmpty(t, DialOptions(nil))
	require.NotEmpty(t, Interceptors())
}

// line stands for the client and the server of a connection. It records the points that are reached, and "request" for each request.
type line struct {
	*wire
	seen []string
}

func newLine() *line {
	l := &line{}
	l.wire = newWire(nil, func(p Point, subject string) { l.seen = append(l.seen, string(p)+" "+subject) })
	return l
}

func (l *line) say(t *testing.T, req, reply any) {
	require.NoError(t, l.intercept(t.Context(), "", req, reply, nil,
		func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
			l.seen = append(l.seen, "request")
			return nil
		}))
}

func (l *line) activity(name, workflow, input string) *workflowservice.PollActivityTaskQueueResponse {
	return &workflowservice.PollActivityTaskQueueResponse{
		TaskToken: []byte(name), ActivityType: &commonpb.ActivityType{Name: name},
		WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: workflow},
		Input: &commonpb.Payloads{Payloads: []*commonpb.Payload{{
			Metadata: map[string][]byte{converter.MetadataEncoding: []byte(converter.MetadataEncodingJSON)}, Data: []byte(input),
		}}},
	}
}

func (l *line) workflow(id string) *workflowservice.PollWorkflowTaskQueueResponse {
	return &workflowservice.PollWorkflowTaskQueueResponse{
		TaskToken: []byte(id), WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: id},
	}
}

// Every point is reached, before or after its request.
func TestEveryPointIsOnTheWire(t *testing.T) {
	l := newLine()
	l.say(t, nil, l.activity(protocol.CallModel, "a", "hello"))
	l.say(t, &workflowservice.RespondActivityTaskCompletedRequest{TaskToken: []byte(protocol.CallModel)}, nil)
	l.say(t, nil, l.activity(protocol.AwaitAgent, "a", "a/b"))
	l.say(t, &workflowservice.RespondActivityTaskCompletedRequest{TaskToken: []byte(protocol.AwaitAgent)}, nil)
	l.say(t, nil, l.workflow("a"))
	l.say(t, nil, l.workflow("a/b"))
	respond := func(workflow string, message bool, reply any, commands ...enumspb.CommandType) {
		req := &workflowservice.RespondWorkflowTaskCompletedRequest{TaskToken: []byte(workflow)}
		for _, c := range commands {
			req.Commands = append(req.Commands, &commandpb.Command{CommandType: c})
		}
		if message {
			req.Messages = []*protocolpb.Message{{}}
		}
		l.say(t, req, reply)
	}
	respond("a", true, &workflowservice.RespondWorkflowTaskCompletedResponse{
		ActivityTasks: []*workflowservice.PollActivityTaskQueueResponse{l.activity(protocol.CallTool, "a", "far.pay")},
	}, enumspb.COMMAND_TYPE_START_CHILD_WORKFLOW_EXECUTION)
	l.say(t, &workflowservice.RespondActivityTaskCompletedRequest{TaskToken: []byte(protocol.CallTool)}, nil)
	respond("a/b", false, nil, enumspb.COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION)
	respond("a", false, nil, enumspb.COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION) // a root agent
	respond("a", false, nil, enumspb.COMMAND_TYPE_CONTINUE_AS_NEW_WORKFLOW_EXECUTION)
	require.Equal(t, []string{
		"request", "model.taken a hello",
		"model.answered a hello", "request", "model.reported a hello",
		"request", "child.attaching a a/b",
		"child.attached a a/b", "request",
		"request", "request",
		"child.starting a", "update.before a", "request", "child.started a", "update.after a", "tool.taken a far.pay",
		"tool.answered a far.pay", "request", "tool.reported a far.pay",
		"child.finishing a/b", "request", "child.finished a/b",
		"request",
		"roll.before a", "request", "roll.after a",
	}, l.seen)
	for _, p := range Points() {
		found := false
		for _, s := range l.seen {
			found = found || len(s) > len(p) && s[:len(p)+1] == string(p)+" "
		}
		require.True(t, found, p)
	}
}

func TestARequestThatFailsIsNotReported(t *testing.T) {
	l := newLine()
	l.say(t, nil, l.activity(protocol.CallModel, "a", ""))
	l.seen = nil
	err := l.intercept(t.Context(), "", &workflowservice.RespondActivityTaskCompletedRequest{TaskToken: []byte(protocol.CallModel)}, nil, nil,
		func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
			return context.Canceled
		})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, []string{"model.answered a "}, l.seen)
}

func TestOneProcessDiesOnceAtAnArmedPoint(t *testing.T) {
	dir, deaths := t.TempDir(), 0
	f := &folder{dir: dir, die: func() { deaths++ }}
	f.reach(ToolTaken, "a")
	require.Zero(t, deaths, "nothing is armed")

	require.NoError(t, Arm(dir, ToolTaken, 1, "/clerk", "far.pay"))
	f.reach(ToolTaken, "a/clerk-1 far.read")
	f.reach(ToolAnswered, "a/clerk-1 far.pay")
	f.reach(ToolTaken, "a/clerk-1 far.pay")
	require.Zero(t, deaths, "one hit passes")
	require.True(t, Armed(dir, ToolTaken))
	f.reach(ToolTaken, "a/clerk-2 far.pay")
	require.Equal(t, 1, deaths)
	require.False(t, Armed(dir, ToolTaken))
	f.reach(ToolTaken, "a/clerk-2 far.pay")
	require.Equal(t, 1, deaths)
}
