package workflows_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
	"github.com/reagent-dev/reagent/workflows"
)

// texts is an interceptor that keeps all texts with which a workflow describes its steps to the Web UI.
type texts struct {
	interceptor.WorkerInterceptorBase

	all []string
}

func (t *texts) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &textsInbound{interceptor.WorkflowInboundInterceptorBase{Next: next}, t}
}

type textsInbound struct {
	interceptor.WorkflowInboundInterceptorBase
	texts *texts
}

func (i *textsInbound) Init(next interceptor.WorkflowOutboundInterceptor) error {
	return i.Next.Init(&textsOutbound{interceptor.WorkflowOutboundInterceptorBase{Next: next}, i.texts})
}

type textsOutbound struct {
	interceptor.WorkflowOutboundInterceptorBase
	texts *texts
}

func (o *textsOutbound) ExecuteActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	o.texts.all = append(o.texts.all, workflow.GetActivityOptions(ctx).Summary)
	return o.Next.ExecuteActivity(ctx, name, args...)
}

func (o *textsOutbound) ExecuteChildWorkflow(ctx workflow.Context, name string, args ...any) workflow.ChildWorkflowFuture {
	options := workflow.GetChildWorkflowOptions(ctx)
	o.texts.all = append(o.texts.all, options.StaticSummary, options.StaticDetails)
	if task, ok := options.Memo[protocol.MemoTask].(string); ok {
		o.texts.all = append(o.texts.all, task)
	}
	return o.Next.ExecuteChildWorkflow(ctx, name, args...)
}

func (o *textsOutbound) SideEffectWithOptions(ctx workflow.Context, options workflow.SideEffectOptions, f func(workflow.Context) any) converter.EncodedValue {
	o.texts.all = append(o.texts.all, options.Summary)
	return o.Next.SideEffectWithOptions(ctx, options, f)
}

func (o *textsOutbound) NewTimerWithOptions(ctx workflow.Context, d time.Duration, options workflow.TimerOptions) workflow.Future {
	o.texts.all = append(o.texts.all, options.Summary)
	return o.Next.NewTimerWithOptions(ctx, d, options)
}

// With NoUIContent, no text for the Web UI has anything that people, models, tools or guardrails have said; without it, all of it is there. The
// agent does the same in both, and names and states are always there.
func TestNoUIContentKeepsOutWhatWasSaid(t *testing.T) {
	for _, none := range []bool{false, true} {
		b := newBench(t)
		kept := &texts{}
		b.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{kept}})
		b.def.Tools = append(b.def.Tools, agent.Tool{Name: agent.AskUser, Effect: agent.EffectExternal})
		b.def.Tools[1].Approval = true
		b.def.Guardrails.Messages = []string{"tone"}
		b.tool = func(context.Context, protocol.CallToolInput) (protocol.ToolResult, error) {
			return protocol.ToolResult{Content: "plum-result"}, nil
		}
		b.judge = func(in protocol.CheckTextInput) agent.Verdict {
			switch in.Text {
			case "plum-doubt":
				return agent.Verdict{Action: agent.TextAsks, Reason: "plum-reason"}
			case "plum-rude":
				return agent.Verdict{Action: agent.TextRefused, Reason: "plum-refused"}
			}
			return agent.Verdict{Action: agent.TextAllowed}
		}
		asked := 0
		b.model = func(int) (llm.Reply, error) {
			switch asked++; asked {
			case 1:
				return llmtest.Call(llmtest.ToolCall("1", "pay", `{"a":"plum-arguments"}`), llmtest.ToolCall("2", agent.AskUser, `{"question":"plum-question"}`)), nil
			case 2:
				return llmtest.Call(llmtest.ToolCall("3", "clerk", `{"task":"plum-errand"}`)), nil
			case 3:
				return llmtest.Say("done"), nil // of the clerk
			case 4:
				return llmtest.Say("plum-answer"), nil
			}
			return llm.Reply{}, temporal.NewNonRetryableApplicationError("plum-error", string(llm.Unauthorized), nil)
		}
		hours := 0
		at := func(do func()) { hours++; b.RegisterDelayedCallback(do, time.Duration(hours)*time.Hour) }
		look := func() { kept.all = append(kept.all, b.details(t)) }
		send := func(text string) func() {
			return func() {
				b.UpdateWorkflowNoRejection(protocol.MessageUpdate, text, t, agent.QueuedMessage{ID: text, Text: text})
			}
		}
		decide := func(d agent.Decision) {
			hours++
			b.decideAfter(t, time.Duration(hours)*time.Hour, d, "")
		}
		at(look)
		decide(agent.Decision{Approve: true})
		decide(agent.Decision{Result: &agent.GivenResult{Content: "8"}})
		at(look)
		at(send("plum-rude"))
		at(send("plum-doubt"))
		at(look)
		decide(agent.Decision{Approve: true})
		at(look)
		at(func() { b.UpdateWorkflowNoRejection(protocol.CloseUpdate, "close", t) })

		in := agent.Start{
			Agent: "x", Mode: agent.Chat, KeyVersion: agent.KeyVersion, Incarnation: "l", NoUIContent: none,
			Message: &agent.QueuedMessage{ID: "first", Text: "plum-task"},
		}
		kept.all = append(kept.all, workflows.StaticSummary(in), workflows.StaticDetails(in), fmt.Sprint(workflows.Memo(in)))
		b.ExecuteWorkflow(protocol.AgentWorkflow, in)
		require.Error(t, b.GetWorkflowError())
		require.Equal(t, 5, asked)
		look()

		all := strings.Join(kept.all, "\n")
		for _, name := range []string{"pay", "ask_user", "clerk", "tone", string(llm.Unauthorized), "Sub-agents", "Failed"} {
			require.Contains(t, all, name)
		}
		if none {
			require.NotContains(t, all, "plum")
			continue
		}
		for _, word := range []string{"task", "arguments", "result", "question", "errand", "answer", "rude", "refused", "doubt", "reason", "error"} {
			require.Contains(t, all, "plum-"+word)
		}
	}
}
