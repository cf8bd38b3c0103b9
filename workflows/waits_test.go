package workflows_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// seen records the summaries of the markers and timers of a workflow.
type seen struct {
	interceptor.WorkerInterceptorBase
	marks, timers []string
}

// watched makes a bench record the summaries of the markers and timers of its workflow.
func (b *bench) watched() *seen {
	s := &seen{}
	b.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{s}})
	return s
}

func (s *seen) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &seenInbound{interceptor.WorkflowInboundInterceptorBase{Next: next}, s}
}

type seenInbound struct {
	interceptor.WorkflowInboundInterceptorBase
	seen *seen
}

func (i *seenInbound) Init(next interceptor.WorkflowOutboundInterceptor) error {
	return i.Next.Init(&seenOutbound{interceptor.WorkflowOutboundInterceptorBase{Next: next}, i.seen})
}

type seenOutbound struct {
	interceptor.WorkflowOutboundInterceptorBase
	seen *seen
}

func (o *seenOutbound) SideEffectWithOptions(ctx workflow.Context, options workflow.SideEffectOptions, f func(workflow.Context) any) converter.EncodedValue {
	o.seen.marks = append(o.seen.marks, options.Summary)
	return o.Next.SideEffectWithOptions(ctx, options, f)
}

func (o *seenOutbound) NewTimerWithOptions(ctx workflow.Context, d time.Duration, options workflow.TimerOptions) workflow.Future {
	o.seen.timers = append(o.seen.timers, options.Summary)
	return o.Next.NewTimerWithOptions(ctx, d, options)
}

// Each wait of a call has one marker, which says what waits, and a wait without a limit has no timer. A call that waits for an approval
// and then for its result has two waits. Other events, and decisions on other calls, add no marker.
func TestEachWaitHasOneMarker(t *testing.T) {
	b := newBench(t)
	seen := b.watched()
	b.def.Tools = []agent.Tool{
		{Name: "pay", Ref: "pay", Approval: true}, {Name: "deploy", Approval: true, Effect: agent.EffectExternal},
		{Name: agent.AskUser, Effect: agent.EffectExternal},
	}
	b.model = replies(map[int]llm.Reply{
		1: llmtest.Call(llmtest.ToolCall("1", "pay", `{"n":0}`), llmtest.ToolCall("2", "deploy", `{"version":12}`)),
		4: llmtest.Call(llmtest.ToolCall("3", agent.AskUser, `{"question":"Number 7 or 8?"}`)),
		6: llmtest.Say("done"),
	})
	hour := time.Duration(0)
	after := func(do func()) { hour += time.Hour; b.RegisterDelayedCallback(do, hour) }
	resume := func() { b.UpdateWorkflowNoRejection(protocol.ResumeLostUpdate, "r", t, "r") }
	decide := func(name string, d agent.Decision) func() {
		return func() {
			value, err := b.QueryWorkflow(protocol.PendingQuery)
			require.NoError(t, err)
			var calls []agent.Call
			require.NoError(t, value.Get(&calls))
			for _, c := range calls {
				if c.Name == name {
					d.Key = c.Key
					b.UpdateWorkflowNoRejection(protocol.DecideUpdate, name+string(c.WaitsFor()), t, d)
				}
			}
		}
	}
	given := agent.Decision{Result: &agent.GivenResult{Content: "8"}}
	after(resume)
	after(decide("deploy", agent.Decision{Approve: true}))
	after(resume)
	after(decide("pay", agent.Decision{Approve: true}))
	after(decide("deploy", given))
	after(decide(agent.AskUser, given))
	b.start(agent.Task, "go")
	require.NoError(t, b.GetWorkflowError())
	require.Equal(t, []string{
		`2 calls wait · approval: pay {"n":0} · approval: deploy {"version":12}`,
		`waits for a result · deploy {"version":12}`,
		`waits for an answer · ask_user Number 7 or 8?`,
	}, seen.marks)
	require.Empty(t, seen.timers)
}

// A wait with a limit has a timer that names the call.
func TestWaitWithALimitHasATimerThatNamesTheCall(t *testing.T) {
	b := newBench(t)
	seen := b.watched()
	b.def.Tools[1].Approval, b.def.Tools[1].ApprovalMS = true, time.Hour.Milliseconds()
	b.model = replies(pays)
	b.start(agent.Task, "go")
	require.NoError(t, b.GetWorkflowError())
	require.Equal(t, []string{`time limit · waits for approval · pay {"n":1}`}, seen.timers)
	require.Equal(t, []string{`waits for approval · pay {"n":1}`}, seen.marks)
}

// The arguments of calls are text of the model. A summary shows them on one line, without markup, and within the limit, however many
// calls wait.
func TestAttackSummaryOfAWait(t *testing.T) {
	hostile := `{"n":"` + strings.Repeat(`\n<b>[x](http://evil.example)</b>`+"\u202e", 50) + `"}`
	for calls := range 12 {
		b := newBench(t)
		seen := b.watched()
		b.def.Tools[1].Approval = true
		var asked []llm.ToolCall
		for range calls + 1 {
			asked = append(asked, llmtest.ToolCall("", "pay", hostile))
		}
		b.model = replies(map[int]llm.Reply{1: llmtest.Call(asked...), calls + 3: llmtest.Say("done")})
		b.approve(t, time.Hour)
		b.tool = func(context.Context, protocol.CallToolInput) (protocol.ToolResult, error) {
			return protocol.ToolResult{}, nil
		}
		b.start(agent.Task, "go")
		require.NoError(t, b.GetWorkflowError())
		require.Len(t, seen.marks, 1)
		require.LessOrEqual(t, len(seen.marks[0]), 200)
		require.Contains(t, seen.marks[0], "pay {")
		for _, bad := range []string{"<", ">", "](", "\n", "\u202e"} {
			require.NotContains(t, seen.marks[0], bad)
		}
		if calls == 11 {
			require.True(t, strings.HasPrefix(seen.marks[0], "12 calls wait · approval: pay {"), seen.marks[0])
			require.True(t, strings.HasSuffix(seen.marks[0], " · and 9 more"), seen.marks[0])
		}
	}
}
