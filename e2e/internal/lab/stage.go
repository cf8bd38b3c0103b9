package lab

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	updatepb "go.temporal.io/api/update/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"google.golang.org/grpc"

	"github.com/reagent-dev/reagent/agent"
	reagent "github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/dial"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/internal/testkit/statelog"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
	"github.com/reagent-dev/reagent/workflows"
)

// stage holds one agent that the test controls step by step. The test decides when the agent's workflow has a worker, when the
// worker reports a workflow task, and when and how an activity ends.
type stage struct {
	t      testing.TB
	ctx    context.Context
	id     string
	queue  string
	budget time.Duration
	// temporal is a client that records the updates it sends: see [stage.note]. agents is made of temporal.
	temporal sdk.Client
	agents   *reagent.Client

	dialed sdk.Client // the client of the worker
	worker worker.Worker

	mu      sync.Mutex
	live    map[runKey][]statelog.Entry
	updates []*updatepb.UpdateRef
	hold    *world.Gate // stops the next report of a workflow task; nil does not stop it
	// passRoll makes an exception for the report by which the agent continues in a new run: hold does not stop this report.
	passRoll bool
}

func newStage(t testing.TB, id string, budget time.Duration) *stage {
	ctx, cancel := context.WithTimeout(t.Context(), 2*world.Patience)
	t.Cleanup(cancel)
	s := &stage{t: t, ctx: ctx, id: id, queue: "q-" + id, budget: budget, live: map[runKey][]statelog.Entry{}}
	dial := func(intercept grpc.UnaryClientInterceptor) sdk.Client {
		options, err := dial.ClientOptions(world.Server.Address(), "")
		require.NoError(t, err)
		options.Logger = sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))
		options.ConnectionOptions.DialOptions = append(options.ConnectionOptions.DialOptions, grpc.WithChainUnaryInterceptor(intercept))
		c, err := sdk.Dial(options)
		require.NoError(t, err)
		t.Cleanup(c.Close)
		return c
	}
	s.temporal, s.dialed = dial(s.note), dial(s.report)
	s.agents = world.AgentsOf(s.temporal, s.queue)
	t.Cleanup(func() {
		s.stop()
		if t.Failed() {
			s.tell()
		}
	})
	return s
}

// note is a gRPC interceptor for a client. It records in s.updates which updates the client sends.
func (s *stage) note(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if r, ok := req.(*workflowservice.UpdateWorkflowExecutionRequest); ok {
		s.mu.Lock()
		s.updates = append(s.updates, &updatepb.UpdateRef{WorkflowExecution: r.GetWorkflowExecution(), UpdateId: r.GetRequest().GetMeta().GetUpdateId()})
		s.mu.Unlock()
	}
	return invoke(ctx, method, req, reply, conn, opts...)
}

// report is a gRPC interceptor for the worker. If s.hold is set, it holds the next report of a workflow task.
func (s *stage) report(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if r, ok := req.(*workflowservice.RespondWorkflowTaskCompletedRequest); ok {
		s.mu.Lock()
		hold, pass := s.hold, s.passRoll
		s.mu.Unlock()
		for _, c := range r.GetCommands() {
			if pass && c.GetCommandType() == enumspb.COMMAND_TYPE_CONTINUE_AS_NEW_WORKFLOW_EXECUTION {
				hold = nil
			}
		}
		if hold != nil {
			if err := hold.Pass(ctx); err != nil {
				return err
			}
		}
	}
	return invoke(ctx, method, req, reply, conn, opts...)
}

// serve starts a worker for the agent's workflow. The worker records the states of the agent in s.live.
func (s *stage) serve() {
	record := func(e statelog.Entry) {
		s.mu.Lock()
		defer s.mu.Unlock()
		key := runKey{e.Workflow, e.Run}
		s.live[key] = append(s.live[key], e)
	}
	s.worker = worker.New(s.dialed, s.queue, worker.Options{
		LocalActivityWorkerOnly: true, MaxConcurrentWorkflowTaskPollers: 2, StickyScheduleToStartTimeout: 100 * time.Millisecond,
		Identity:     strconv.Itoa(os.Getpid()) + "@stage", // the recorded states are found by the process ID
		Interceptors: []interceptor.WorkerInterceptor{&apart{}, statelog.Interceptor(false, record)},
	})
	workflows.New(workflows.Options{HeartbeatTimeout: time.Hour}).Register(s.worker)
	require.NoError(s.t, s.worker.Start())
}

// stop stops the worker that serve has started. The next worker has to replay the agent's history.
func (s *stage) stop() {
	if s.worker != nil {
		s.worker.Stop()
		s.worker = nil
	}
}

// start starts the agent in chat mode, with one message.
func (s *stage) start() {
	_, err := s.agents.Start(s.ctx, reagent.StartOptions{ID: s.id, Agent: "x", Mode: agent.Chat, Message: "go"})
	require.NoError(s.t, err)
}

// definitionOf returns the definition of the agent with the given name. The agent x has the tool pay, the tool wire, whose results
// come from outside, three sub-agents, and a hook
// for calls that wait. It waits for a call of boss during the time s.budget, for a call of clerk only 1 ms, and for a call of chief without such a
// limit. Other agents have no tools.
func (s *stage) definitionOf(name string) agent.Definition {
	d := agent.Definition{Name: name, Candidates: []llm.Candidate{{Name: "main", Model: "m"}}}
	if name == "x" {
		d.Limits.Depth = 3
		d.Notify = []agent.Hook{{Name: "pager", On: []agent.Occasion{agent.OnWaits}}}
		d.Tools = []agent.Tool{
			{Name: "boss", Agent: "y", BudgetMS: s.budget.Milliseconds()},
			{Name: "chief", Agent: "y"},
			{Name: "clerk", Agent: "y", BudgetMS: 1},
			{Name: "pay", Ref: "far.pay"},
			{Name: "wire", Ref: "wire", Effect: agent.EffectExternal},
		}
	}
	return d
}

// soon waits until the function ok returns true. If s.ctx ends before that, soon fails the test with the name of the condition,
// which is the parameter what.
func (s *stage) soon(what string, ok func() bool) {
	s.t.Helper()
	require.NoError(s.t, until(s.ctx, what, func(context.Context) (bool, error) { return ok(), nil }))
}

func (s *stage) describe(id string) *workflowservice.DescribeWorkflowExecutionResponse {
	found, err := s.temporal.DescribeWorkflowExecution(s.ctx, id, "")
	require.NoError(s.t, err)
	return found
}

func (s *stage) runID() string {
	return s.describe(s.id).GetWorkflowExecutionInfo().GetExecution().GetRunId()
}

// pending returns the pending activities of the agent with the given ID that have the activity type in the parameter name.
func (s *stage) pending(id, name string) []*workflowpb.PendingActivityInfo {
	var all []*workflowpb.PendingActivityInfo
	found, err := s.temporal.DescribeWorkflowExecution(s.ctx, id, "")
	if !isGone(err) { // a sub-agent may not have been started yet
		require.NoError(s.t, err)
	}
	for _, a := range found.GetPendingActivities() {
		if a.GetActivityType().GetName() == name {
			all = append(all, a)
		}
	}
	return all
}

// awaits waits until an agent has one pending activity of the type in the parameter name, and returns the activity ID. The
// parameter id is the ID of the agent.
func (s *stage) awaits(id, name string) string {
	s.t.Helper()
	var found []*workflowpb.PendingActivityInfo
	s.soon(id+" awaits "+name, func() bool {
		found = s.pending(id, name)
		return len(found) == 1
	})
	return found[0].GetActivityId()
}

// complete completes a pending activity with a result. The parameter id is the ID of the agent.
func (s *stage) complete(id, activityID string, result any) {
	s.t.Helper()
	require.NoError(s.t, until(s.ctx, activityID+" is completed", func(ctx context.Context) (bool, error) {
		err := s.temporal.CompleteActivityByID(ctx, "default", id, "", activityID, result, nil)
		return err == nil, err
	}))
}

// child waits until the agent has asked for the sub-agent with the given tool name, and returns the ID of the sub-agent.
func (s *stage) child(tool string) string {
	s.t.Helper()
	var id string
	s.soon("there is a sub-agent of "+tool, func() bool {
		view, err := s.view(s.ctx)
		for _, c := range view.Children {
			if err == nil && c.Task == "task of "+tool {
				id = c.ID
			}
		}
		return id != ""
	})
	return id
}

// answerOf returns the answer with which a sub-agent ends. The parameter tool is the name by which the agent calls the sub-agent.
func answerOf(tool string) string { return "answer of " + tool }

// reply returns the result of an activity that has called the model and has got the reply r.
func reply(r llm.Reply) protocol.ModelResult { return protocol.ModelResult{Reply: r} }

// lead gives a sub-agent its definition, and waits until the sub-agent calls the model.
func (s *stage) lead(id string) {
	s.complete(id, s.awaits(id, protocol.LoadAgent), s.definitionOf("y"))
	s.awaits(id, protocol.CallModel)
}

// idle brings the agent into the following state. The agent has answered its first message and waits for the next one. It has
// called the sub-agent clerk, and this call was left unanswered, because clerk took too long. clerk goes on working.
func (s *stage) idle() {
	s.complete(s.id, s.awaits(s.id, protocol.LoadAgent), s.definitionOf("x"))
	s.complete(s.id, s.awaits(s.id, protocol.CallModel), reply(llmtest.Call(llmtest.ToolCall("1", "clerk", `{"task":"task of clerk"}`))))
	s.lead(s.child("clerk"))
	s.complete(s.id, s.awaits(s.id, protocol.CallModel), reply(llmtest.Say("I wait for the clerk.")))
	s.soon("it waits", func() bool { return s.status() == agent.Waiting })
}

// busy brings the agent into the following state. The agent waits for the tool pay, for a result from outside, for the sub-agent chief
// and, with a time limit, for the sub-agent boss. An earlier call of the sub-agent clerk was left unanswered, and clerk goes on
// working.
func (s *stage) busy() {
	s.complete(s.id, s.awaits(s.id, protocol.LoadAgent), s.definitionOf("x"))
	s.complete(s.id, s.awaits(s.id, protocol.CallModel), reply(llmtest.Call(llmtest.ToolCall("1", "clerk", `{"task":"task of clerk"}`))))
	s.lead(s.child("clerk"))
	s.complete(s.id, s.awaits(s.id, protocol.CallModel), reply(llmtest.Call(
		llmtest.ToolCall("1", "boss", `{"task":"task of boss"}`), llmtest.ToolCall("2", "chief", `{"task":"task of chief"}`),
		llmtest.ToolCall("3", "pay", `{"n":1}`), llmtest.ToolCall("4", "wire", `{"n":1}`))))
	s.lead(s.child("chief"))
	s.awaits(s.id, protocol.CallTool)
	s.awaits(s.id, protocol.Notify)
}

func (s *stage) status() agent.Status {
	look, err := s.agents.Describe(s.ctx, s.id)
	if err != nil {
		return ""
	}
	return look.Status
}

// view asks the worker for the agent's state. If the agent is still reading its state from an earlier run, view returns an error.
func (s *stage) view(ctx context.Context) (view protocol.StateView, err error) {
	value, err := s.temporal.QueryWorkflow(ctx, s.id, "", protocol.StateQuery)
	if err != nil {
		return view, err
	}
	if err := value.Get(&view); err != nil || !view.Reading {
		return view, err
	}
	return view, errors.New("the agent is still reading its state")
}

// settle completes all pending activities of the agent and its sub-agents, gives the results from outside, and lets an interrupted
// turn go on, until the agent waits for a message and all is done.
func (s *stage) settle() {
	s.t.Helper()
	require.NoError(s.t, until(s.ctx, "it waits", func(ctx context.Context) (bool, error) {
		found := s.describe(s.id)
		if found.GetWorkflowExecutionInfo().GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
			return false, errors.New(found.GetWorkflowExecutionInfo().GetStatus().String())
		}
		open := s.answer(ctx, s.id, "x")
		view, err := s.view(ctx)
		if err != nil {
			return false, err
		}
		for _, c := range view.Children {
			if !c.Phase.Ended() {
				open = true
				s.answer(ctx, c.ID, "y")
			}
		}
		switch {
		case view.WaitsFor == agent.WaitsForResult:
			_, err := s.agents.Complete(ctx, s.id, "", "given", reagent.CompleteOptions{})
			return false, err
		case view.Status == agent.Held && view.Hold.Class == agent.Interrupted:
			_, err := s.agents.Send(ctx, s.id, reagent.Message{ID: "go-on", Text: "go on"})
			return false, err
		}
		return !open && view.Status == agent.Waiting && view.Queue == 0, nil
	}))
}

// answer completes the pending activities of one agent, and reports whether something was open: an activity or a workflow task.
// The parameter id is the ID of the agent, and name is the name of its definition.
func (s *stage) answer(ctx context.Context, id, name string) bool {
	found, err := s.temporal.DescribeWorkflowExecution(ctx, id, "")
	if err != nil {
		return true
	}
	for _, a := range found.GetPendingActivities() {
		var result any
		switch a.GetActivityType().GetName() {
		case protocol.LoadAgent:
			result = s.definitionOf(name)
		case protocol.CallModel:
			text := "ok"
			if strings.Contains(id, "/") {
				task, err := s.taskOf(id)
				if err != nil {
					continue // the caller tries again
				}
				for _, tool := range []string{"boss", "chief", "clerk"} {
					if strings.Contains(task, tool) {
						text = answerOf(tool)
					}
				}
			}
			result = reply(llmtest.Say(text))
		case protocol.CallTool:
			result = protocol.ToolResult{Content: "paid"}
		case protocol.Notify:
		default:
			continue
		}
		// An error does not matter: the activity may have ended, or may not have started.
		_ = s.temporal.CompleteActivityByID(ctx, "default", id, "", a.GetActivityId(), result, nil)
	}
	return len(found.GetPendingActivities()) > 0 || found.GetPendingWorkflowTask() != nil
}

// taskOf returns the task that the sub-agent with the given ID has got; empty if this is unknown.
func (s *stage) taskOf(id string) (string, error) {
	view, err := s.view(s.ctx)
	for _, c := range view.Children {
		if c.ID == id {
			return c.Task, err
		}
	}
	return "", err
}

// resetLast resets the agent's newest run to its last completed workflow task.
func (s *stage) resetLast() {
	run := s.runID()
	h, err := historyOf(s.ctx, s.temporal, s.id, run)
	require.NoError(s.t, err)
	var finish int64
	for _, e := range h.GetEvents() {
		if e.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			finish = e.GetEventId()
		}
	}
	_, err = s.temporal.ResetWorkflowExecution(s.ctx, &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: "default", WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: s.id, RunId: run},
		Reason: "test", WorkflowTaskFinishEventId: finish, RequestId: uuid.NewString(),
	})
	require.NoError(s.t, err)
}

// admitted waits until the test has sent a new update, and the server has admitted it. The parameter after is the number of
// updates before the new one.
func (s *stage) admitted(after int) {
	s.t.Helper()
	s.soon("the update is admitted", func() bool {
		s.mu.Lock()
		var ref *updatepb.UpdateRef
		if len(s.updates) > after {
			ref = s.updates[len(s.updates)-1]
		}
		s.mu.Unlock()
		if ref == nil {
			return false
		}
		found, err := s.temporal.WorkflowService().PollWorkflowExecutionUpdate(s.ctx, &workflowservice.PollWorkflowExecutionUpdateRequest{
			Namespace: "default", UpdateRef: ref,
		})
		return err == nil && found.GetStage() >= enumspb.UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_ADMITTED
	})
}

// histories returns the histories of all runs in which states were recorded, by run ID.
func (s *stage) histories() map[string]*historypb.History {
	all := map[string]*historypb.History{}
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.live {
		h, err := historyOf(s.ctx, s.temporal, key.workflow, key.run)
		require.NoError(s.t, err)
		all[key.run] = h
	}
	return all
}

// tell logs the events of all runs in which states were recorded.
func (s *stage) tell() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.live {
		logHistory(s.t, s.temporal, key.workflow, key.run)
	}
}

// requireSame asserts that the agent had the same state after each workflow task as a replay of its history has.
func (s *stage) requireSame() {
	s.t.Helper()
	s.mu.Lock()
	live := s.live
	s.live = map[runKey][]statelog.Entry{}
	for key, all := range live {
		s.live[key] = append(s.live[key], all...)
	}
	s.mu.Unlock()
	require.Positive(s.t, compareStates(s.t, s.temporal, live, []string{s.id}, nil).tasks)
}
