package activities_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/reagent-dev/reagent/activities"
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
	"github.com/reagent-dev/reagent/tool"
)

// stage runs the activities in Temporal's test environment. A fake workflow answers their queries from a list of messages.
type stage struct {
	*testsuite.TestActivityEnvironment
	workflow *workflow
	model    *llmtest.Model
	named    *named
	doing    *activities.Activities
}

// contact is a Temporal client that answers heartbeats and records them.
type contact struct {
	client.Client
	// answer returns the answer to a heartbeat of the attempt with the given number. Nil means that all heartbeats are accepted.
	answer func(attempt int32) error
	// status is the status of the run. The field failure is the last failure of the pending activity.
	status  enumspb.WorkflowExecutionStatus
	failure *failurepb.Failure
	// unknown is the error with which Temporal describes no workflow.
	unknown error
	named   *named // the ID of the pending activity
	// state is the state of the pending activity. The field attempt is the number of its attempt.
	state   enumspb.PendingActivityState
	attempt int32

	mu    sync.Mutex
	beats []protocol.Progress
}

func (c *contact) RecordActivityHeartbeat(ctx context.Context, _ []byte, details ...any) error {
	c.mu.Lock()
	c.beats = append(c.beats, details[0].(protocol.Progress))
	c.mu.Unlock()
	if c.answer == nil {
		return nil
	}
	return c.answer(activity.GetInfo(ctx).Attempt)
}

func (c *contact) DescribeWorkflowExecution(context.Context, string, string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	if c.unknown != nil {
		return nil, c.unknown
	}
	return &workflowservice.DescribeWorkflowExecutionResponse{
		WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{Status: c.status},
		PendingActivities: []*workflowpb.PendingActivityInfo{{
			ActivityId: string(c.named.key), LastFailure: c.failure, State: c.state, Attempt: cmp.Or(c.attempt, 1),
		}},
	}, nil
}

// heard returns the recorded heartbeats.
func (c *contact) heard() []protocol.Progress {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.beats)
}

// workflow is a fake workflow that answers the queries of activities as the driver does.
type workflow struct {
	*contact
	head     llm.Request
	messages []llm.Message
	queries  int
	page     int           // the number of messages in a page
	fail     int           // the number of queries that fail before one succeeds
	slow     time.Duration // how long a query takes
}

func (w *workflow) origin() agent.ModelIdentity {
	return agent.ModelIdentity{Identity: agent.Identity{KeyVersion: 1, AgentID: "a", Incarnation: "first"}, PrefixHash: agent.HashPrefix(w.head)}
}

// named sets the ID of each activity to key. Temporal's test environment cannot do that.
type named struct {
	interceptor.WorkerInterceptorBase
	interceptor.ActivityInboundInterceptorBase
	interceptor.ActivityOutboundInterceptorBase
	key agent.Key
	// attempt, timeout and started replace the attempt number, the heartbeat timeout and the start time of the attempt. A zero
	// value replaces nothing.
	attempt int32
	timeout time.Duration
	started time.Time
}

func (n *named) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	n.ActivityInboundInterceptorBase.Next = next
	return n
}

func (n *named) Init(next interceptor.ActivityOutboundInterceptor) error {
	n.ActivityOutboundInterceptorBase.Next = next
	return n.ActivityInboundInterceptorBase.Next.Init(n)
}

func (n *named) GetInfo(ctx context.Context) activity.Info {
	info := n.ActivityOutboundInterceptorBase.GetInfo(ctx)
	info.ActivityID = string(n.key)
	if n.attempt > 0 {
		info.Attempt = n.attempt
	}
	if n.timeout > 0 {
		info.HeartbeatTimeout = n.timeout
	}
	if !n.started.IsZero() {
		info.StartedTime = n.started
	}
	return info
}

func (w *workflow) QueryWorkflow(_ context.Context, _, _, _ string, args ...any) (converter.EncodedValue, error) {
	w.queries++
	time.Sleep(w.slow) // of the bubble's clock, if it is not zero
	if w.fail > 0 {
		w.fail--
		return nil, errors.New("the workflow is busy")
	}
	in := args[0].(protocol.RequestInput)
	if in.Head {
		return value{protocol.RequestPage{Origin: w.origin(), Head: &w.head}}, nil
	}
	return value{protocol.RequestPage{Origin: w.origin(), Messages: w.messages[in.From:min(in.From+w.page, in.Count, len(w.messages))]}}, nil
}

type value struct{ v any }

func (v value) HasValue() bool { return true }
func (v value) Get(out any) error {
	text, err := json.Marshal(v.v)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, out)
}

func newStage(t *testing.T, model *llmtest.Model, tools ...tool.Tool) *stage {
	return newStageWith(t, model, func(*activities.Options) {}, tools...)
}

func newStageWith(t *testing.T, model *llmtest.Model, change func(*activities.Options), tools ...tool.Tool) *stage {
	as := &named{key: "tool-1"}
	s := &stage{model: model, named: as, workflow: &workflow{
		contact: &contact{named: as},
		head:    llm.Request{Candidates: []llm.Candidate{{Name: "main", Model: "m"}}, Messages: []llm.Message{{Role: llm.System, Content: "Be good."}}},
		page:    2,
	}}
	var err error
	options := activities.Options{
		Temporal: s.workflow, Models: map[string]activities.Model{"main": {Client: model, Model: "m"}}, Tools: newRegistry(t, tools...),
		Agents: []activities.Agent{
			{Name: "x", Model: "main", Tools: []string{"b", "a"}, Agents: []string{"y"}},
			{Name: "y", Model: "main", Description: "helps"},
		},
	}
	change(&options)
	s.doing, err = activities.New(options)
	require.NoError(t, err)
	s.open()
	return s
}

// open creates the test environment in which the activities run.
func (s *stage) open() {
	var suite testsuite.WorkflowTestSuite
	s.TestActivityEnvironment = suite.NewTestActivityEnvironment()
	s.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{s.named}})
	s.doing.Register(s)
}

// attempt returns a stage with the same worker, on which activities run with the given attempt number.
func (s *stage) attempt(number int32) *stage {
	other := *s
	named := *s.named
	named.attempt = number
	other.named = &named
	other.open()
	return &other
}

func (s *stage) say(role llm.Role, text string) {
	s.workflow.messages = append(s.workflow.messages, llm.Message{Role: role, Content: text})
}

// input returns the input of a model call with all messages so far. The given number of messages at the end (delta) are in the
// input's Delta. input also sets the ID of the next activity to the request's key.
func (s *stage) input(delta int) protocol.CallModelInput {
	all := s.workflow.messages
	s.named.key = s.workflow.origin().Key(agent.HashMessages("", all...))
	in := protocol.CallModelInput{Count: len(all), Delta: all[len(all)-delta:]}
	if delta > 0 {
		origin := s.workflow.origin()
		in.Origin = &origin
	}
	return in
}

func (s *stage) ask(in protocol.CallModelInput) (llm.Reply, error) {
	reply, err := run[llm.Reply](s, protocol.CallModel, in)
	reply.Message.Role = llm.Assistant // stored replies omit the default role
	return reply, err
}

func (s *stage) call(in protocol.CallToolInput) (protocol.ToolResult, error) {
	return run[protocol.ToolResult](s, protocol.CallTool, in)
}

func run[T any](s *stage, activity string, in any) (result T, err error) {
	v, err := s.ExecuteActivity(activity, in)
	if err != nil {
		return result, err
	}
	err = v.Get(&result)
	return result, err
}

func failure(t *testing.T, err error) *temporal.ApplicationError {
	t.Helper()
	var failed *temporal.ApplicationError
	require.ErrorAs(t, err, &failed)
	return failed
}

func TestRequestIsAssembledFromThePagesOfTheWorkflow(t *testing.T) {
	s := newStage(t, llmtest.Script(llmtest.Say("one"), llmtest.Say("two")))
	for i := range 5 {
		s.say(llm.User, fmt.Sprint("message ", i))
	}
	reply, err := s.ask(s.input(0))
	require.NoError(t, err)
	require.Equal(t, "one", reply.Message.Content)
	require.Equal(t, 1+3, s.workflow.queries, "the head, and five messages in pages of two")
	sent := s.model.Requests()[0]
	require.NotEmpty(t, sent.Key)
	require.Equal(t, append(s.workflow.head.Messages, s.workflow.messages...), sent.Messages)

	// All messages of the next request are in the cache, except for the message in the input's Delta.
	s.workflow.messages = append(s.workflow.messages, reply.Message)
	s.say(llm.User, "more")
	_, err = s.ask(s.input(1))
	require.NoError(t, err)
	require.Equal(t, 4, s.workflow.queries)
	require.Equal(t, append(s.workflow.head.Messages, s.workflow.messages...), s.model.Requests()[1].Messages)
}

// A worker does not send cached messages of another branch, from before a reset.
func TestStaleCacheIsNotSent(t *testing.T) {
	s := newStage(t, llmtest.Func(func(context.Context, llm.Request) (llm.Reply, error) { return llmtest.Say("ok"), nil }))
	s.say(llm.User, "the first branch")
	s.say(llm.User, "goes on")
	_, err := s.ask(s.input(2))
	require.NoError(t, err)
	s.workflow.messages = nil
	for _, text := range []string{"the second branch", "goes", "on", "and on"} {
		s.say(llm.User, text)
	}
	_, err = s.ask(s.input(1))
	require.NoError(t, err)
	require.Equal(t, append(s.workflow.head.Messages, s.workflow.messages...), s.model.Requests()[1].Messages)
}

// All requests of an agent have one key for the prompt cache of the provider, also if its definition changes.
func TestRequestsOfAnAgentHaveOneCacheKey(t *testing.T) {
	s := newStage(t, llmtest.Func(func(context.Context, llm.Request) (llm.Reply, error) { return llmtest.Say("ok"), nil }))
	s.say(llm.User, "hello")
	_, err := s.ask(s.input(1))
	require.NoError(t, err)
	s.workflow.head.Messages = []llm.Message{{Role: llm.System, Content: "Be better."}}
	s.say(llm.User, "hello again")
	_, err = s.ask(s.input(0))
	require.NoError(t, err)
	keys := []string{s.model.Requests()[0].PromptCacheKey, s.model.Requests()[1].PromptCacheKey}
	require.Regexp(t, "^[0-9a-f]{32}$", keys[0])
	require.Equal(t, keys[0], keys[1])
	require.NotEqual(t, s.model.Requests()[0].Key, s.model.Requests()[1].Key)
}

// After a reload of the definition, the request has the new request prefix and the same messages.
func TestReloadedDefinitionIsSent(t *testing.T) {
	s := newStage(t, llmtest.Func(func(context.Context, llm.Request) (llm.Reply, error) { return llmtest.Say("ok"), nil }))
	s.say(llm.User, "hello")
	_, err := s.ask(s.input(1))
	require.NoError(t, err)
	s.workflow.head.Messages = []llm.Message{{Role: llm.System, Content: "Be better."}}
	_, err = s.ask(s.input(0))
	require.NoError(t, err)
	require.Equal(t, append(s.workflow.head.Messages, s.workflow.messages...), s.model.Requests()[1].Messages)
}

// A worker does not query the workflow for a tool result that is in its cache. It does not send a cached result of another call
// with the same ID.
func TestResultsAreRemembered(t *testing.T) {
	asks := llmtest.Call(llmtest.ToolCall("c1", "a", `{"n":1}`))
	s := newStage(t, llmtest.Script(asks, asks, llmtest.Say("done")), far{"a", func() (tool.Result, error) { return tool.Result{Content: "42"}, nil }})
	s.say(llm.User, "how much?")
	for i, result := range []string{"42", "another worker's"} {
		reply, err := s.ask(s.input(1 - i))
		require.NoError(t, err)
		if i == 0 {
			s.named.key = "tool-1"
			_, err = s.ExecuteActivity(protocol.CallTool, protocol.CallToolInput{CallID: "c1", Ref: "a", Arguments: `{"n":1}`})
			require.NoError(t, err)
		}
		s.workflow.messages = append(s.workflow.messages, reply.Message, llm.Message{Role: llm.Tool, Content: result, ToolCallID: "c1"})
	}
	require.Equal(t, 1, s.workflow.queries, "the head")
	_, err := s.ask(s.input(0))
	require.NoError(t, err)
	require.Equal(t, 2, s.workflow.queries, "and the result of the other worker")
	for i, count := range []int{1, 3, 5} {
		require.Equal(t, append(s.workflow.head.Messages, s.workflow.messages[:count]...), s.model.Requests()[i].Messages)
	}
}

func TestWrongMessagesAreNeverSent(t *testing.T) {
	s := newStage(t, llmtest.Script(llmtest.Say("one")))
	s.say(llm.User, "hello")
	in := s.input(0)
	s.workflow.messages[0].Content = "changed"
	_, err := s.ask(in)
	require.Equal(t, protocol.Mismatch, failure(t, err).Type())
	require.True(t, failure(t, err).NonRetryable())
	require.Empty(t, s.model.Requests())
}

func TestFailedQueryIsNoAttemptAtTheModel(t *testing.T) {
	s := newStage(t, llmtest.Script(llmtest.Say("one")))
	s.say(llm.User, "hello")
	s.workflow.fail = 3
	_, err := s.ask(s.input(0))
	require.NoError(t, err)
	require.Len(t, s.model.Requests(), 1)
}

func TestModelErrorsAreClassed(t *testing.T) {
	for class, retryable := range map[llm.Class]bool{
		llm.RateLimited: true, llm.Overloaded: true, llm.Connection: true, llm.EmptyReply: true, llm.BadReply: true,
		llm.ContextTooLong: false, llm.InvalidRequest: false, llm.Unauthorized: false, llm.QuotaExceeded: false, llm.NotFound: false,
	} {
		s := newStage(t, llmtest.Func(func(context.Context, llm.Request) (llm.Reply, error) {
			return llm.Reply{}, &llm.Error{Class: class, Message: "no", RetryAfter: 7_000_000_000}
		}))
		s.say(llm.User, "hello")
		_, err := s.ask(s.input(1))
		require.Equal(t, string(class), failure(t, err).Type())
		require.Equal(t, !retryable, failure(t, err).NonRetryable(), class)
		require.Equal(t, "7s", failure(t, err).NextRetryDelay().String())
	}
}

// The number of attempts that reached the model is limited. The heartbeat details count them.
func TestRetriesAreBounded(t *testing.T) {
	for class, bound := range map[llm.Class]int{llm.Overloaded: 8, llm.EmptyReply: 3} {
		for tried := range bound {
			s := newStage(t, llmtest.Func(func(context.Context, llm.Request) (llm.Reply, error) {
				return llm.Reply{}, &llm.Error{Class: class, Message: "no"}
			}))
			s.SetHeartbeatDetails(map[string]int{"tried": tried})
			s.say(llm.User, "hello")
			_, err := s.ask(s.input(1))
			require.Equal(t, tried == bound-1, failure(t, err).NonRetryable(), "%s after %d", class, tried)
		}
	}
}

// In an outage, the setting of the model limits the time and not the number of attempts. It is counted from the first failure. Replies that
// cost money are still asked for a few times only.
func TestOutageIsWaitedOut(t *testing.T) {
	for _, c := range []struct {
		class  llm.Class
		tried  int
		failed time.Duration // since the first failure
		after  time.Duration // that the endpoint asks for
		final  bool
	}{
		{llm.Overloaded, 0, 0, 0, false},
		{llm.Connection, 300, 118 * time.Minute, 0, false},
		{llm.Connection, 300, 119*time.Minute + 30*time.Second, 0, true}, // the next attempt would begin too late
		{llm.RateLimited, 3, 90 * time.Minute, time.Hour, true},
		{llm.BadReply, 7, 0, 0, true},
		{llm.EmptyReply, 2, 0, 0, true},
		{llm.Unauthorized, 0, 0, 0, true},
	} {
		s := newStageWith(t, llmtest.Func(func(context.Context, llm.Request) (llm.Reply, error) {
			return llm.Reply{}, &llm.Error{Class: c.class, Message: "no", RetryAfter: c.after}
		}), func(o *activities.Options) {
			main := o.Models["main"]
			main.RetryFor = 2 * time.Hour
			o.Models["main"] = main
			o.Agents[0].Limits.Time, o.Agents[1].Limits.Time = 3*time.Hour, 3*time.Hour
		})
		details := protocol.Progress{Tried: c.tried}
		if c.failed > 0 {
			details.FailingSince = time.Now().Add(-c.failed)
		}
		s.SetHeartbeatDetails(details)
		s.say(llm.User, "hello")
		_, err := s.ask(s.input(1))
		require.Equal(t, c.final, failure(t, err).NonRetryable(), c)
		pause := failure(t, err).NextRetryDelay()
		require.True(t, pause > 0 && (pause <= time.Minute || c.after > 0), "a pause of %v after %d attempts", pause, c.tried)
	}
}

// Empty replies are paid for. The final reply or failure of a model call contains their number and their tokens.
func TestEmptyRepliesAreCounted(t *testing.T) {
	said := false
	model := llmtest.Func(func(context.Context, llm.Request) (llm.Reply, error) {
		if said {
			return llmtest.Say("hello"), nil
		}
		return llm.Reply{}, &llm.Error{Class: llm.EmptyReply, Message: "nothing", Usage: llm.Usage{InputTokens: 7}}
	})
	two := agent.EmptyReplies{Count: 2, Usage: llm.Usage{InputTokens: 14}}

	s := newStage(t, model)
	s.SetHeartbeatDetails(map[string]any{"tried": 1, "empty": agent.EmptyReplies{Count: 1, Usage: llm.Usage{InputTokens: 7}}})
	s.say(llm.User, "hello")
	_, err := s.ask(s.input(1))
	var empty agent.EmptyReplies
	require.NoError(t, failure(t, err).Details(&empty))
	require.Equal(t, two, empty)
	failed := protocol.ModelEvent("model-1", protocol.ModelResult{}, err, 5)
	require.Equal(t, two, failed.(agent.ModelFailed).Empty)

	said = true
	s = newStage(t, model)
	s.SetHeartbeatDetails(map[string]any{"tried": 2, "empty": two})
	s.say(llm.User, "hello")
	v, err := s.ExecuteActivity(protocol.CallModel, s.input(1))
	require.NoError(t, err)
	var result protocol.ModelResult
	require.NoError(t, v.Get(&result))
	require.Equal(t, two, result.Empty)
}

// If the endpoint sets no retry delay, the delay grows.
func TestPauseBetweenAttemptsGrows(t *testing.T) {
	for tried, pause := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
		s := newStage(t, llmtest.Func(func(context.Context, llm.Request) (llm.Reply, error) {
			return llm.Reply{}, &llm.Error{Class: llm.Overloaded, Message: "no"}
		}))
		s.SetHeartbeatDetails(map[string]int{"tried": tried})
		s.say(llm.User, "hello")
		_, err := s.ask(s.input(1))
		require.Equal(t, pause, failure(t, err).NextRetryDelay())
	}
}

// A request that every endpoint would reject is not sent.
func TestRequestThatNoEndpointWouldTakeIsNotSent(t *testing.T) {
	s := newStage(t, llmtest.Script(llmtest.Say("hello")))
	s.workflow.messages = []llm.Message{{Role: llm.User, Content: "go"}, {Role: llm.Tool, ToolCallID: "1", Content: "an orphan"}}
	_, err := s.ask(s.input(2))
	require.Equal(t, string(llm.InvalidRequest), failure(t, err).Type())
	require.True(t, failure(t, err).NonRetryable())
	require.ErrorContains(t, err, `not sent: message 2: the result of "1" has no call before it`)
	require.Empty(t, s.model.Requests())
}

// The activity checks an answer against the output schema, because the workflow cannot. The result says what does not match.
func TestAnswerIsHeldAgainstItsSchema(t *testing.T) {
	for text, problem := range map[string]string{
		`{"n": 3}`: "", `{"n": "three"}`: `"n"`, "three": "not valid JSON",
	} {
		s := newStage(t, llmtest.Script(llmtest.Say(text)))
		s.workflow.head.Params.OutputSchema = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)
		s.say(llm.User, "how many?")
		v, err := s.ExecuteActivity(protocol.CallModel, s.input(1))
		require.NoError(t, err)
		var result protocol.ModelResult
		require.NoError(t, v.Get(&result))
		if problem == "" {
			require.Empty(t, result.Invalid)
		} else {
			require.Contains(t, result.Invalid, problem)
		}
	}
}

// The request for a summary has only messages from queries of the workflow. It does not use or change the cache.
func TestSummaryIsAskedForWithRequestsOfItsOwn(t *testing.T) {
	s := newStage(t, llmtest.Script(llmtest.Say("a summary"), llmtest.Say("hello")))
	s.say(llm.User, "go")
	in := s.input(0)
	in.Compact = true
	_, err := s.ask(in)
	require.NoError(t, err)
	asked := s.workflow.queries
	s.say(llm.User, "on")
	_, err = s.ask(s.input(0))
	require.NoError(t, err)
	require.Equal(t, asked+1, s.workflow.queries, "the messages were not taken from those of the summary")
}

func TestModelOfAnotherWorkerIsWaitedFor(t *testing.T) {
	s := newStage(t, llmtest.Script(llmtest.Say("one")))
	s.workflow.head.Candidates[0].Name = "other"
	s.say(llm.User, "hello")
	_, err := s.ask(s.input(1))
	require.Equal(t, protocol.Missing, failure(t, err).Type())
	require.False(t, failure(t, err).NonRetryable())
}

// far is a tool that calls a function of the test.
type far struct {
	name string
	do   func() (tool.Result, error)
}

func (f far) Spec() tool.Spec {
	return tool.Spec{Name: f.name, Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)}
}

func (f far) Call(ctx context.Context, _ json.RawMessage) (tool.Result, error) {
	here, info := activity.GetInfo(ctx), tool.InfoFrom(ctx)
	if info.Logger == nil {
		return tool.Result{}, errors.New("no logger")
	}
	info.Logger = nil
	if !reflect.DeepEqual(info, tool.Info{Key: here.ActivityID, CallID: "c1", AgentID: here.WorkflowExecution.ID, ResultBytes: protocol.DefaultResultBytes}) {
		return tool.Result{}, fmt.Errorf("info: %+v", info)
	}
	return f.do()
}

func TestToolCallsEndInOneWay(t *testing.T) {
	lost := fmt.Errorf("connection reset: %w", tool.ErrOutcomeUnknown)
	slow := fmt.Errorf("mcp server x: pay: %w: no answer within 1m0s", tool.ErrOutcomeUnknown)
	for name, c := range map[string]struct {
		effect tool.Effect
		args   string
		result tool.Result
		err    error
		tried  int
		want   protocol.ToolResult
		fails  string
	}{
		"result":                          {result: tool.Result{Content: "42"}, want: protocol.ToolResult{Content: "42"}},
		"error result":                    {result: tool.Result{Content: "no", IsError: true}, want: protocol.ToolResult{Content: "no", Kind: agent.Errored}},
		"outcome unknown, at most once":   {err: lost, want: protocol.ToolResult{Content: "no result: connection reset; outcome unknown — check before you retry", Kind: agent.OutcomeUnknown}},
		"slow server, at most once":       {err: slow, want: protocol.ToolResult{Content: "no result: mcp server x: pay: no answer within 1m0s; outcome unknown — check before you retry", Kind: agent.OutcomeUnknown}},
		"outcome unknown, read-only":      {effect: tool.ReadOnly, err: lost, fails: protocol.Unavailable},
		"outcome unknown, idempotent":     {effect: tool.Idempotent, err: lost, fails: protocol.Unavailable},
		"did not run":                     {err: errors.New("refused"), fails: protocol.Unavailable},
		"did not run, five times":         {err: errors.New("refused"), tried: 4, want: protocol.ToolResult{Content: "error: the tool cannot be reached: refused", Kind: agent.Errored}},
		"took its worker down five times": {tried: 5, want: protocol.LostTool()},
	} {
		t.Run(name, func(t *testing.T) {
			runs := 0
			s := newStage(t, llmtest.Script(), far{"a", func() (tool.Result, error) { runs++; return c.result, c.err }})
			if c.tried > 0 {
				s.SetHeartbeatDetails(map[string]int{"tried": c.tried})
			}
			got, err := s.call(protocol.CallToolInput{
				CallID: "c1", Ref: "a", ToolEffect: string(c.effect), Arguments: `{"n":1}`,
			})
			if c.fails != "" {
				require.Equal(t, c.fails, failure(t, err).Type())
				require.False(t, failure(t, err).NonRetryable())
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got)
			require.Equal(t, c.tried < 5, runs == 1)
		})
	}
}

func TestToolOfAnotherWorkerIsWaitedFor(t *testing.T) {
	s := newStage(t, llmtest.Script())
	_, err := s.ExecuteActivity(protocol.CallTool, protocol.CallToolInput{Ref: "elsewhere", Arguments: `{}`})
	require.Equal(t, protocol.Missing, failure(t, err).Type())
	require.False(t, failure(t, err).NonRetryable())
}

func TestDefinitionIsSettledOnce(t *testing.T) {
	s := newStage(t, llmtest.Script(), far{"a", nil}, far{"b", nil})
	v, err := s.ExecuteActivity(protocol.LoadAgent, protocol.LoadAgentInput{Agent: "x"})
	require.NoError(t, err)
	var d agent.Definition
	require.NoError(t, v.Get(&d))
	require.Equal(t, []llm.Candidate{{Name: "main", Model: "m"}}, d.Candidates)
	var names []string
	for _, tool := range d.Tools {
		names = append(names, tool.Name)
	}
	require.Equal(t, []string{"a", "b", "y"}, names)
	y, _ := d.Tool("y")
	require.Equal(t, "helps", y.Description)
	require.Equal(t, "y", y.Agent)

}

// Another worker may serve an agent that this worker does not serve yet. So the start of the agent is retried for a limited time.
func TestUnknownAgentIsWaitedForDuringARollout(t *testing.T) {
	for name, c := range map[string]struct {
		timeout time.Duration
		final   bool
	}{
		"the rollout may be going on":      {0, false},
		"nobody rolls out so long":         {1, true},
		"other workers are not waited for": {-1, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, llmtest.Script())
			a, err := activities.New(activities.Options{
				Temporal: &workflow{contact: new(contact)}, Models: map[string]activities.Model{"main": {}}, RolloutTimeout: c.timeout,
				Agents: []activities.Agent{{Name: "x", Model: "main"}, {Name: "y", Model: "main"}},
			})
			require.NoError(t, err)
			a.Register(s)
			_, err = s.ExecuteActivity(protocol.LoadAgent, protocol.LoadAgentInput{Agent: "z"})
			failed := failure(t, err)
			require.Equal(t, protocol.UnknownAgent, failed.Type())
			require.Contains(t, failed.Message(), `no agent "z" on this worker, which serves x, y;`)
			require.Equal(t, c.final, failed.NonRetryable())
			require.Equal(t, time.Second, failed.NextRetryDelay())
		})
	}
}

// If no worker has the tool of a call, the model is told after some time that the tool was not run. It is told so only if no attempt
// and no earlier run of the agent can have run it.
func TestMissingToolIsNotWaitedForForEver(t *testing.T) {
	for name, c := range map[string]struct {
		timeout time.Duration
		tried   protocol.Progress
		attempt int32
		ends    bool
	}{
		"the rollout may be going on":           {0, protocol.Progress{}, 1, false},
		"nobody rolls out so long":              {1, protocol.Progress{}, 1, true},
		"earlier workers did not have the tool": {1, protocol.Progress{Reported: 2}, 3, true},
		"an earlier attempt ran the tool":       {1, protocol.Progress{Reported: 1, Tried: 1}, 2, false},
		"an earlier attempt was lost":           {1, protocol.Progress{Reported: 1}, 3, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, llmtest.Script()).attempt(c.attempt)
			a, err := activities.New(activities.Options{
				Temporal: s.workflow, Models: map[string]activities.Model{"main": {}}, RolloutTimeout: c.timeout,
			})
			require.NoError(t, err)
			s.doing = a
			s.open()
			s.SetHeartbeatDetails(c.tried)
			result, err := s.call(protocol.CallToolInput{Ref: "gone", ToolEffect: string(tool.ReadOnly), Arguments: "{}"})
			if !c.ends {
				require.Equal(t, protocol.Missing, failure(t, err).Type())
				return
			}
			require.NoError(t, err)
			require.Equal(t, protocol.ToolResult{Content: `not run: no worker has the tool "gone"`, Kind: agent.Errored}, result)
		})
	}
}

func TestOptionsThatContradictEachOther(t *testing.T) {
	_, err := activities.New(activities.Options{
		Temporal: &workflow{}, Models: map[string]activities.Model{"main": {}},
		Agents: []activities.Agent{{Name: "x", Model: "big", Agents: []string{"z"}}, {Name: "x", Model: "main"}},
	})
	require.ErrorContains(t, err, `no model "big"`)
	require.ErrorContains(t, err, `no agent "z"`)
	require.ErrorContains(t, err, "twice")
}
