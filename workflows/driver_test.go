package workflows_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/hint"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
	"github.com/reagent-dev/reagent/tool"
	"github.com/reagent-dev/reagent/workflows"
)

// bench runs the driver in Temporal's test environment. Its activities have the real names and call the functions model
// and tool.
type bench struct {
	*testsuite.TestWorkflowEnvironment
	def   agent.Definition
	model func(count int) (llm.Reply, error)
	tool  func(ctx context.Context, in protocol.CallToolInput) (protocol.ToolResult, error)
	judge func(in protocol.CheckTextInput) agent.Verdict

	loaded  int         // number of calls of LoadAgent
	decided []agent.Key // the calls of [bench.decideAfter]
	texts   []bool      // for each model call, whether it reports its text

	mu  sync.Mutex
	ran map[agent.Key]int
}

func newBench(t *testing.T) *bench {
	var suite testsuite.WorkflowTestSuite
	b := &bench{
		TestWorkflowEnvironment: suite.NewTestWorkflowEnvironment(),
		ran:                     map[agent.Key]int{},
		def: agent.Definition{
			Name: "x", Candidates: []llm.Candidate{{Name: "main", Model: "m"}},
			Tools: []agent.Tool{
				{Name: "clerk", Agent: "clerk"}, {Name: "pay", Ref: "pay"}, {Name: "read", Ref: "read", Effect: string(tool.ReadOnly)},
			},
			Limits: agent.Limits{ModelCalls: 10, Depth: 2},
		},
		tool: func(_ context.Context, in protocol.CallToolInput) (protocol.ToolResult, error) {
			return protocol.ToolResult{Content: "result of " + in.Arguments}, nil
		},
	}
	workflows.New(workflows.Options{Commands: hint.Starter{}}).Register(b)
	b.RegisterActivityWithOptions(func(_ context.Context, in protocol.LoadAgentInput) (agent.Definition, error) {
		b.loaded++
		if b.def.Name == "" {
			return agent.Definition{}, temporal.NewNonRetryableApplicationError("no definition", protocol.BadAgent, nil)
		}
		if in.Agent == "nobody" {
			return agent.Definition{}, temporal.NewNonRetryableApplicationError("no agent nobody", protocol.UnknownAgent, nil)
		}
		return b.def, nil
	}, activity.RegisterOptions{Name: protocol.LoadAgent})
	b.RegisterActivityWithOptions(func(ctx context.Context, in protocol.CallModelInput) (llm.Reply, error) {
		b.count(ctx)
		b.texts = append(b.texts, in.PartialText)
		return b.model(in.Count)
	}, activity.RegisterOptions{Name: protocol.CallModel})
	b.RegisterActivityWithOptions(func(_ context.Context, in protocol.CheckTextInput) (protocol.CheckedText, error) {
		return protocol.CheckedText{Verdict: b.judge(in)}, nil
	}, activity.RegisterOptions{Name: protocol.CheckText})
	b.RegisterActivityWithOptions(func(ctx context.Context, in protocol.CallToolInput) (protocol.ToolResult, error) {
		b.count(ctx)
		return b.tool(ctx, in)
	}, activity.RegisterOptions{Name: protocol.CallTool})
	t.Cleanup(func() { require.True(t, b.IsWorkflowCompleted()) })
	return b
}

func (b *bench) count(ctx context.Context) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ran[agent.Key(activity.GetInfo(ctx).ActivityID)]++
}

func (b *bench) start(mode agent.Mode, text string) {
	in := agent.Start{Agent: "x", Mode: mode, KeyVersion: agent.KeyVersion, Incarnation: "l"}
	if text != "" {
		in.Message = &agent.QueuedMessage{ID: "first", Text: text}
	}
	b.SetContinuedExecutionRunID("first")
	b.ExecuteWorkflow(protocol.AgentWorkflow, in)
}

func (b *bench) transcript(t *testing.T) []string {
	value, err := b.QueryWorkflow(protocol.TranscriptQuery, protocol.TranscriptInput{})
	require.NoError(t, err)
	var page protocol.TranscriptPage
	require.NoError(t, value.Get(&page))
	var lines []string
	for _, m := range page.Messages {
		lines = append(lines, fmt.Sprintf("%s: %s", m.Role, m.Content))
	}
	return lines
}

// replies returns a model that chooses its reply by the number of messages in the request.
func replies(by map[int]llm.Reply) func(int) (llm.Reply, error) {
	return func(count int) (llm.Reply, error) {
		reply, ok := by[count]
		if !ok {
			return reply, temporal.NewNonRetryableApplicationError(fmt.Sprintf("nothing for %d messages", count), string(llm.InvalidRequest), nil)
		}
		reply.Message.Role = llm.Assistant
		return reply, nil
	}
}

func TestTaskEndsWithItsAnswer(t *testing.T) {
	b := newBench(t)
	b.model = replies(map[int]llm.Reply{
		1: llmtest.Call(llmtest.ToolCall("1", "read", `{"n":1}`), llmtest.ToolCall("2", "pay", `{"n":2}`), llmtest.ToolCall("3", "read", `{"n":1}`)),
		5: llmtest.Say("done"),
	})
	b.start(agent.Task, "go")
	var result protocol.Result
	require.NoError(t, b.GetWorkflowResult(&result))
	require.Equal(t, "done", result.Answer)
	require.Equal(t, 2, result.Usage.ModelCalls)
	require.Equal(t, 3, result.Usage.ToolCalls)
	require.Equal(t, []string{"user: go", "assistant: ", `tool: result of {"n":1}`, `tool: result of {"n":2}`, `tool: result of {"n":1}`, "assistant: done"}, b.transcript(t))
	require.Len(t, b.ran, 5)
	for key, n := range b.ran {
		require.Equal(t, 1, n, key)
	}
}

func TestChatWaitsForTheNextMessage(t *testing.T) {
	b := newBench(t)
	b.model = replies(map[int]llm.Reply{1: llmtest.Say("one"), 3: llmtest.Say("two")})
	send := func(after time.Duration, update string, args ...any) {
		b.RegisterDelayedCallback(func() {
			b.UpdateWorkflowNoRejection(update, fmt.Sprint(update, after), t, args...)
		}, after)
	}
	send(time.Hour, protocol.MessageUpdate, agent.QueuedMessage{ID: "a", Text: "second"})
	send(2*time.Hour, protocol.MessageUpdate, agent.QueuedMessage{ID: "a", Text: "second, sent again"})
	send(3*time.Hour, protocol.CloseUpdate)
	b.start(agent.Chat, "first")
	require.NoError(t, b.GetWorkflowError())
	require.Equal(t, []string{"user: first", "assistant: one", "user: second", "assistant: two"}, b.transcript(t))
}

// Model calls and tool calls report their text while the text grows if the message of the turn asks for it, or if somebody has asked for it lately.
func TestPartialTextIsReportedWhereItIsWanted(t *testing.T) {
	b := newBench(t)
	calls := func() llm.Reply { return llmtest.Call(llmtest.ToolCall("c", "pay", `{"n":1}`)) }
	b.model = replies(map[int]llm.Reply{
		1: calls(), 3: llmtest.Say("one"), 5: calls(), 7: llmtest.Say("two"), 9: calls(), 11: llmtest.Say("three"), 13: calls(), 15: llmtest.Say("four"),
	})
	var tools []bool
	b.tool = func(_ context.Context, in protocol.CallToolInput) (protocol.ToolResult, error) {
		tools = append(tools, in.PartialText)
		return protocol.ToolResult{Content: "3"}, nil
	}
	send := func(after time.Duration, update string, args ...any) {
		b.RegisterDelayedCallback(func() {
			b.UpdateWorkflowNoRejection(update, fmt.Sprint(update, after), t, args...)
		}, after)
	}
	send(time.Hour, protocol.MessageUpdate, agent.QueuedMessage{ID: "a", Text: "asks", PartialText: true})
	send(2*time.Hour, protocol.PartialTextUpdate, (10 * time.Minute).Milliseconds())
	send(2*time.Hour+9*time.Minute, protocol.MessageUpdate, agent.QueuedMessage{ID: "b", Text: "is watched"})
	send(2*time.Hour+11*time.Minute, protocol.MessageUpdate, agent.QueuedMessage{ID: "c", Text: "is not watched any more"})
	send(3*time.Hour, protocol.CloseUpdate)
	b.start(agent.Chat, "first")
	require.NoError(t, b.GetWorkflowError())
	require.Equal(t, []bool{false, false, true, true, true, true, false, false}, b.texts)
	require.Equal(t, []bool{false, true, true, false}, tools)
}

// Messages that come while the agent reads its state enter the queue in the order in which they came.
func TestMessagesBeforeTheStateKeepTheirOrder(t *testing.T) {
	b := newBench(t)
	b.model = replies(map[int]llm.Reply{1: llmtest.Say("one"), 3: llmtest.Say("two"), 5: llmtest.Say("three")})
	packed, err := protocol.Pack(agent.New("default-test-workflow-id", agent.Start{Agent: "x", Mode: agent.Chat, KeyVersion: agent.KeyVersion, Incarnation: "l"}, 0))
	require.NoError(t, err)
	sent := make(chan struct{})
	b.RegisterActivityWithOptions(func(context.Context, protocol.ReadAgentInput) (protocol.Page, error) {
		<-sent
		return protocol.Page{Data: packed, Pages: 1}, nil
	}, activity.RegisterOptions{Name: protocol.ReadAgent})
	for i, text := range []string{"first", "second", "third"} {
		b.RegisterDelayedCallback(func() {
			b.UpdateWorkflowNoRejection(protocol.MessageUpdate, text, t, agent.QueuedMessage{ID: text, Text: text})
			if i == 2 {
				close(sent)
			}
		}, time.Duration(i)*time.Millisecond)
	}
	b.RegisterDelayedCallback(func() { b.UpdateWorkflowNoRejection(protocol.CloseUpdate, "close", t) }, time.Hour)
	b.ExecuteWorkflow(protocol.AgentWorkflow, agent.Start{
		Agent: "x", Mode: agent.Chat, KeyVersion: agent.KeyVersion, Incarnation: "l", From: &agent.RunRef{ID: "default-test-workflow-id", RunID: "earlier", Resume: true},
	})
	require.NoError(t, b.GetWorkflowError())
	require.Equal(t, []string{"user: first", "assistant: one", "user: second", "assistant: two", "user: third", "assistant: three"}, b.transcript(t))
}

// The usage counts messages that came twice, and resumes that came too late.
func TestDuplicatesAndLostResumesAreCounted(t *testing.T) {
	b := newBench(t)
	b.model = replies(map[int]llm.Reply{1: llmtest.Say("one"), 3: llmtest.Say("two")})
	after := time.Duration(0)
	send := func(update string, args ...any) {
		after += time.Minute
		id := fmt.Sprint(after)
		b.RegisterDelayedCallback(func() { b.UpdateWorkflowNoRejection(update, id, t, args...) }, after)
	}
	send(protocol.MessageUpdate, agent.QueuedMessage{ID: "a", Text: "second"})
	send(protocol.MessageUpdate, agent.QueuedMessage{ID: "a", Text: "second"})
	var accepted protocol.Accepted
	after += time.Minute
	b.RegisterDelayedCallback(func() {
		b.UpdateWorkflow(protocol.MessageUpdate, "other", &testsuite.TestUpdateCallback{
			OnAccept: func() {}, OnReject: func(err error) { t.Error(err) }, OnComplete: func(result any, _ error) { accepted, _ = result.(protocol.Accepted) },
		}, agent.QueuedMessage{ID: "a", Text: "third"})
	}, after)
	send(protocol.ResumeLostUpdate, "r1")
	send(protocol.ResumeLostUpdate, "r1")
	send(protocol.ResumeLostUpdate, "r2")
	send(protocol.CloseUpdate)
	b.start(agent.Chat, "first")
	var result protocol.Result
	require.NoError(t, b.GetWorkflowResult(&result))
	require.Equal(t, 2, result.Usage.DuplicateEvents)
	require.Equal(t, 2, result.Usage.ResumeConflicts)
	require.Equal(t, protocol.Accepted{ID: "a", Duplicate: true, Differs: true}, accepted)
}

// After an UpgradeUpdate the agent continues as new when no effect is in flight, and the next run has the whole state.
func TestUpgradeContinuesAsNewAtTheNextBoundary(t *testing.T) {
	b := newBench(t)
	b.model = replies(map[int]llm.Reply{1: llmtest.Say("one")})
	b.RegisterDelayedCallback(func() { b.UpdateWorkflowNoRejection(protocol.UpgradeUpdate, "u", t) }, time.Minute)
	b.start(agent.Chat, "first")
	var next *workflow.ContinueAsNewError
	require.ErrorAs(t, b.GetWorkflowError(), &next)
	var in agent.Start
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(next.Input, &in))
	require.Equal(t, "l", in.Incarnation)
	require.True(t, in.State.Plain(), "people can read a small state in the input of the run")
	state, err := protocol.Open("default-test-workflow-id", in, in.State, 0)
	require.NoError(t, err)
	require.Len(t, state.Messages, 2)
	require.EqualValues(t, workflow.ContinueAsNewVersioningBehaviorAutoUpgrade, next.InitialVersioningBehavior)

	// The details of the next run still have the first task. Temporal shows the static details of the first run only there.
	b = newBench(t)
	b.model = replies(map[int]llm.Reply{3: llmtest.Say("two")})
	b.RegisterDelayedCallback(func() {
		require.Contains(t, b.details(t), "**Task**\n\n    first\n")
		require.NotContains(t, b.details(t), "**First task**")
		b.UpdateWorkflowNoRejection(protocol.MessageUpdate, "m", t, agent.QueuedMessage{ID: "m", Text: "second"})
	}, time.Minute)
	b.RegisterDelayedCallback(func() { b.UpdateWorkflowNoRejection(protocol.CloseUpdate, "c", t) }, time.Hour)
	b.SetContinuedExecutionRunID("first")
	b.ExecuteWorkflow(protocol.AgentWorkflow, in)
	require.NoError(t, b.GetWorkflowError())
	require.Contains(t, b.details(t), "**First task**\n\n    first\n\n**Task**\n\n    second\n")
}

// A running agent reloads its definition when no model call is in flight, so no model call is cancelled. If the definition
// cannot be read, the agent keeps the earlier definition.
func TestReloadWaitsForTheModelAndKeepsADefinitionThatWorks(t *testing.T) {
	b := newBench(t)
	asked := 0
	b.model = func(count int) (llm.Reply, error) {
		if asked++; asked == 1 {
			return llm.Reply{}, temporal.NewApplicationErrorWithOptions("busy", string(llm.Overloaded), temporal.ApplicationErrorOptions{NextRetryDelay: time.Hour})
		}
		return llmtest.Say("one"), nil
	}
	view := func() (v protocol.StateView) {
		value, err := b.QueryWorkflow(protocol.StateQuery)
		require.NoError(t, err)
		require.NoError(t, value.Get(&v))
		return v
	}
	reload := func(after time.Duration, id string) {
		b.RegisterDelayedCallback(func() { b.UpdateWorkflowNoRejection(protocol.ReloadUpdate, fmt.Sprint(after), t, id) }, after)
	}
	reload(time.Minute, "a")
	b.RegisterDelayedCallback(func() {
		require.True(t, view().Reloading, "while the model is asked")
		require.Zero(t, view().Reloads)
	}, 2*time.Minute)
	b.RegisterDelayedCallback(func() {
		require.False(t, view().Reloading)
		require.Equal(t, 1, view().Reloads)
		require.Equal(t, agent.Waiting, view().Status)
		b.def.Name = ""
	}, 2*time.Hour)
	reload(2*time.Hour+time.Minute, "a")
	reload(3*time.Hour, "b")
	b.RegisterDelayedCallback(func() {
		require.Equal(t, "no definition", view().ReloadFailure)
		require.Equal(t, agent.Waiting, view().Status)
	}, 4*time.Hour)
	b.RegisterDelayedCallback(func() { b.UpdateWorkflowNoRejection(protocol.CloseUpdate, "c", t) }, 5*time.Hour)
	b.start(agent.Chat, "first")
	require.NoError(t, b.GetWorkflowError())
	require.Equal(t, 2, asked, "nothing was asked twice but for its retry")
	require.Equal(t, 3, b.loaded, "the first, and one for each ID")
}

func TestRefusedMessageChangesNothing(t *testing.T) {
	b := newBench(t)
	b.model = replies(map[int]llm.Reply{1: llmtest.Say("one")})
	var refused error
	b.RegisterDelayedCallback(func() {
		b.UpdateWorkflow(protocol.MessageUpdate, "u", &testsuite.TestUpdateCallback{
			OnAccept:   func() { t.Error("accepted") },
			OnReject:   func(err error) { refused = err },
			OnComplete: func(any, error) {},
		}, agent.QueuedMessage{ID: "a", Text: " "})
	}, time.Minute)
	b.RegisterDelayedCallback(func() { b.UpdateWorkflowNoRejection(protocol.CloseUpdate, "c", t) }, time.Hour)
	b.start(agent.Chat, "first")
	require.ErrorContains(t, refused, `the field "text" is empty`)
	require.Len(t, b.transcript(t), 2)
}

func TestFailedTurnHoldsAChatAndFailsATask(t *testing.T) {
	fail := func(int) (llm.Reply, error) {
		return llm.Reply{}, temporal.NewNonRetryableApplicationError("check the API key", string(llm.Unauthorized), nil)
	}
	b := newBench(t)
	b.model = fail
	b.start(agent.Task, "go")
	var failed *temporal.ApplicationError
	require.ErrorAs(t, b.GetWorkflowError(), &failed)
	require.Equal(t, string(llm.Unauthorized), failed.Type())

	b = newBench(t)
	b.model = fail
	b.RegisterDelayedCallback(func() {
		value, err := b.QueryWorkflow(protocol.StateQuery)
		require.NoError(t, err)
		var view protocol.StateView
		require.NoError(t, value.Get(&view))
		require.Equal(t, agent.Held, view.Status)
		require.Equal(t, "check the API key", view.Hold.Message)
		b.model = replies(map[int]llm.Reply{1: llmtest.Say("hello"), 3: llmtest.Say("yes")})
		b.UpdateWorkflowNoRejection(protocol.MessageUpdate, "m", t, agent.QueuedMessage{ID: "a", Text: "again?"})
	}, time.Hour)
	b.RegisterDelayedCallback(func() { b.UpdateWorkflowNoRejection(protocol.CloseUpdate, "c", t) }, 2*time.Hour)
	b.start(agent.Chat, "go")
	require.NoError(t, b.GetWorkflowError())
	require.Equal(t, []string{"user: go", "assistant: hello", "user: again?", "assistant: yes"}, b.transcript(t))
}

func TestUnknownAgentFails(t *testing.T) {
	b := newBench(t)
	b.ExecuteWorkflow(protocol.AgentWorkflow, agent.Start{Agent: "nobody", Message: &agent.QueuedMessage{ID: "1", Text: "hi"}})
	var failed *temporal.ApplicationError
	require.ErrorAs(t, b.GetWorkflowError(), &failed)
	require.Equal(t, protocol.UnknownAgent, failed.Type())
}

func TestStartWithoutAMessageIsRefused(t *testing.T) {
	b := newBench(t)
	b.start(agent.Task, "")
	require.ErrorContains(t, b.GetWorkflowError(), "needs a message")
}

// The tests in e2e prove that an at-most-once tool does not run again after its worker is lost, because the test environment
// has no heartbeat timeouts.
func TestLostCallIsAnInterruptedResult(t *testing.T) {
	b := newBench(t)
	b.tool = func(context.Context, protocol.CallToolInput) (protocol.ToolResult, error) {
		return protocol.LostTool(), nil
	}
	b.model = replies(map[int]llm.Reply{1: llmtest.Call(llmtest.ToolCall("1", "pay", `{}`)), 3: llmtest.Say("ok")})
	b.start(agent.Task, "go")
	require.NoError(t, b.GetWorkflowError())
	require.Equal(t, "tool: no result: the worker stopped while the tool ran; outcome unknown — check before you retry", b.transcript(t)[2])
}

// A turn ends at its time limit, and each of its calls gets a result. While tools run, no timer runs.
func TestTimeLimitEndsTheTurnWithAResultForEachCall(t *testing.T) {
	b := newBench(t)
	b.def.Limits.Time = time.Second
	b.tool = func(ctx context.Context, _ protocol.CallToolInput) (protocol.ToolResult, error) {
		<-ctx.Done() // the schedule-to-close timeout
		return protocol.ToolResult{}, ctx.Err()
	}
	b.model = replies(map[int]llm.Reply{1: llmtest.Call(llmtest.ToolCall("1", "read", `{}`))})
	b.SetOnTimerScheduledListener(func(string, time.Duration) { t.Error("a timer was started") })
	b.start(agent.Task, "go")
	var result protocol.Result
	require.NoError(t, b.GetWorkflowResult(&result))
	require.Equal(t, "time", result.Stopped)
	require.Equal(t, []string{
		"user: go", "assistant: ",
		"tool: no result: this turn reached its time limit of 1 second (limits.time); outcome unknown — check before you retry",
		"assistant: I stopped here: this turn reached its time limit of 1 second (limits.time). What I have done so far stands above.",
	}, b.transcript(t))
}

// The calls of an agent that was cancelled stay open, and a resume goes on with them.
func TestCancelLeavesCallsToAResume(t *testing.T) {
	b := newBench(t)
	b.tool = func(ctx context.Context, _ protocol.CallToolInput) (protocol.ToolResult, error) {
		return protocol.ToolResult{}, temporal.NewApplicationErrorWithOptions("not yet", protocol.Unavailable,
			temporal.ApplicationErrorOptions{NextRetryDelay: 24 * time.Hour})
	}
	b.model = replies(map[int]llm.Reply{1: llmtest.Call(llmtest.ToolCall("1", "read", `{}`), llmtest.ToolCall("2", "read", `{"n":2}`))})
	b.RegisterDelayedCallback(b.CancelWorkflow, time.Minute)
	b.start(agent.Chat, "go")
	var cancelled *temporal.CanceledError
	require.ErrorAs(t, b.GetWorkflowError(), &cancelled)
	require.Equal(t, []string{"user: go", "assistant: "}, b.transcript(t))
	require.Len(t, b.open(t), 2)
}

func TestSubAgentsAnswerTheirCalls(t *testing.T) {
	b := newBench(t)
	b.model = replies(map[int]llm.Reply{
		1: llmtest.Call(llmtest.ToolCall("1", "clerk", `{"task":"count"}`), llmtest.ToolCall("2", "clerk", `{"task":"count"}`)),
		4: llmtest.Say("two clerks"),
	})
	depth := 0
	parent := b.model
	b.model = func(count int) (llm.Reply, error) {
		if depth++; depth == 1 || count == 4 {
			return parent(count)
		}
		return replies(map[int]llm.Reply{1: llmtest.Say("counted")})(count)
	}
	b.start(agent.Task, "go")
	require.NoError(t, b.GetWorkflowError())
	require.Equal(t, []string{"user: go", "assistant: ", "tool: counted", "tool: counted", "assistant: two clerks"}, b.transcript(t))
}

func TestToolFailureIsAResult(t *testing.T) {
	b := newBench(t)
	b.tool = func(context.Context, protocol.CallToolInput) (protocol.ToolResult, error) {
		return protocol.ToolResult{}, temporal.NewNonRetryableApplicationError("no such door", "Odd", errors.New("x"))
	}
	b.model = replies(map[int]llm.Reply{1: llmtest.Call(llmtest.ToolCall("1", "pay", `{}`)), 3: llmtest.Say("ok")})
	b.start(agent.Task, "go")
	require.NoError(t, b.GetWorkflowError())
	require.Equal(t, "tool: error: pay could not be run: no such door", b.transcript(t)[2])
}

// A state may be so large that Temporal suggests to continue as new as soon as a run has read it. The run continues as new
// only when it has added as many bytes itself.
func TestLargeStateDoesNotContinueForEver(t *testing.T) {
	const size = 4 << 20
	for name, grows := range map[string]bool{"state": false, "state and a run as large": true} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.SetContinueAsNewSuggested(true)
			b.SetCurrentHistorySize(size)
			b.tool = func(context.Context, protocol.CallToolInput) (protocol.ToolResult, error) {
				if grows {
					b.SetCurrentHistorySize(2 * size)
				}
				return protocol.ToolResult{Content: "paid"}, nil
			}
			b.model = replies(map[int]llm.Reply{1: llmtest.Call(llmtest.ToolCall("1", "pay", `{}`)), 3: llmtest.Say("done")})
			b.start(agent.Task, "go")
			err := b.GetWorkflowError()
			require.Equal(t, grows, workflow.IsContinueAsNewError(errors.Unwrap(err)), "%v", err)
			if !grows {
				require.NoError(t, err)
			}
		})
	}
}

// A call that waits for a person needs no timer and has no time limit. After the decision, the time limit begins again.
func TestApprovalHasNoTimeLimit(t *testing.T) {
	b := newBench(t)
	b.def.Limits.Time = time.Minute
	b.def.Tools[1].Approval = true
	b.model = replies(map[int]llm.Reply{
		1: llmtest.Call(llmtest.ToolCall("1", "pay", `{"n":1}`)),
		3: llmtest.Say("done"),
	})
	b.SetOnTimerScheduledListener(func(string, time.Duration) { t.Error("a timer was started") })
	b.RegisterDelayedCallback(func() { // the loop runs long after the time limit
		b.UpdateWorkflow(protocol.PartialTextUpdate, "text", &testsuite.TestUpdateCallback{
			OnAccept: func() {}, OnReject: func(err error) { t.Error(err) }, OnComplete: func(any, error) {},
		}, time.Minute.Milliseconds())
	}, 48*time.Hour)
	b.decideAfter(t, 72*time.Hour, agent.Decision{Approve: true}, "")
	b.start(agent.Task, "go")
	var result protocol.Result
	require.NoError(t, b.GetWorkflowResult(&result))
	require.Equal(t, "done", result.Answer)
	require.Equal(t, []string{"user: go", "assistant: ", `tool: result of {"n":1}`, "assistant: done"}, b.transcript(t))
}

// A decision is taken once. A second one, one on another call, and one with bad arguments are refused.
func TestDecisionIsTakenOnce(t *testing.T) {
	b := newBench(t)
	b.def.Tools[1].Approval, b.def.Tools[2].Approval = true, true
	b.model = replies(map[int]llm.Reply{
		1: llmtest.Call(llmtest.ToolCall("1", "pay", `{"n":1}`), llmtest.ToolCall("2", "read", `{}`)),
		4: llmtest.Say("done"),
	})
	b.decideAfter(t, time.Hour, agent.Decision{Key: "tool-00000000000000000000000000000000", Approve: true}, "no open call")
	b.decideAfter(t, 2*time.Hour, agent.Decision{Approve: true, Arguments: "[1]"}, "JSON object")
	b.decideAfter(t, 3*time.Hour, agent.Decision{Reason: "no"}, "")
	b.decideAfter(t, 4*time.Hour, agent.Decision{Key: "first", Approve: true}, "decided before")
	b.decideAfter(t, 5*time.Hour, agent.Decision{Approve: true, Arguments: `{"n":2}`}, "")
	b.start(agent.Task, "go")
	require.NoError(t, b.GetWorkflowError())
	require.Equal(t, []string{
		"user: go", "assistant: ", "tool: denied: a person refused this call: no",
		"tool: A person changed the arguments of this call to {\"n\":2}. The result:\n\nresult of {\"n\":2}", "assistant: done",
	}, b.transcript(t))
}

// While a run reads its state, it accepts every result. The first one for a call counts. The senders of all others get an error.
func TestResultsBeforeTheStateAreCheckedLater(t *testing.T) {
	b := newBench(t)
	b.def.Tools = []agent.Tool{{Name: "deploy", Effect: agent.EffectExternal}}
	b.model = replies(map[int]llm.Reply{3: llmtest.Say("done")})
	s := agent.New("default-test-workflow-id", agent.Start{
		Agent: "x", Mode: agent.Task, KeyVersion: agent.KeyVersion, Incarnation: "l", Message: &agent.QueuedMessage{ID: "m", Text: "go"},
	}, 0)
	require.True(t, s.Apply(agent.DefinitionLoaded{Key: s.Next().(agent.Load).Key, Definition: b.def}))
	s.Advance(0)
	require.True(t, s.Apply(agent.ModelReplied{Key: s.Next().(agent.CallModel).Key, Reply: llmtest.Call(llmtest.ToolCall("1", "deploy", "{}"))}))
	call := s.Pending()[0].Key
	packed, err := protocol.Pack(s)
	require.NoError(t, err)
	sent := make(chan struct{})
	b.RegisterActivityWithOptions(func(context.Context, protocol.ReadAgentInput) (protocol.Page, error) {
		<-sent
		return protocol.Page{Data: packed, Pages: 1}, nil
	}, activity.RegisterOptions{Name: protocol.ReadAgent})
	outcomes := make([]error, 3)
	for i, d := range []agent.Decision{
		{Key: "tool-00000000000000000000000000000000", Result: &agent.GivenResult{Content: "for no call"}},
		{Key: call, Result: &agent.GivenResult{Content: "deployed"}},
		{Key: call, Result: &agent.GivenResult{Content: "deployed twice"}},
	} {
		b.RegisterDelayedCallback(func() {
			b.UpdateWorkflow(protocol.DecideUpdate, fmt.Sprint(i), &testsuite.TestUpdateCallback{
				OnAccept:   func() {},
				OnReject:   func(err error) { t.Errorf("%d: rejected: %v", i, err) },
				OnComplete: func(_ any, err error) { outcomes[i] = err },
			}, d)
			if i == 2 {
				close(sent)
			}
		}, time.Duration(i)*time.Millisecond)
	}
	b.ExecuteWorkflow(protocol.AgentWorkflow, agent.Start{
		Agent: "x", Mode: agent.Task, KeyVersion: agent.KeyVersion, Incarnation: "l", From: &agent.RunRef{ID: "default-test-workflow-id", RunID: "earlier", Resume: true},
	})
	require.NoError(t, b.GetWorkflowError())
	require.Equal(t, "tool: deployed", b.transcript(t)[2])
	require.ErrorContains(t, outcomes[0], "no open call has this key")
	require.NoError(t, outcomes[1])
	require.ErrorContains(t, outcomes[2], "decided before")
	for _, i := range []int{0, 2} {
		var refused *temporal.ApplicationError
		require.ErrorAs(t, outcomes[i], &refused)
		require.Equal(t, protocol.Refused, refused.Type())
	}
}

// After a reset, a run accepts decisions on calls that it does not have yet. If a call has its result, it refuses a decision on this
// call, also if the decision came before the run had read its state. Here a person has interrupted the turn after the reset.
func TestDecisionAfterAResetIsRefusedIfTheCallHasItsResult(t *testing.T) {
	b := newBench(t)
	b.def.Tools = []agent.Tool{{Name: "pay", Approval: true}}
	s := agent.New("default-test-workflow-id", agent.Start{
		Agent: "x", Mode: agent.Chat, KeyVersion: agent.KeyVersion, Incarnation: "l", Message: &agent.QueuedMessage{ID: "m", Text: "go"},
	}, 0)
	require.True(t, s.Apply(agent.DefinitionLoaded{Key: s.Next().(agent.Load).Key, Definition: b.def}))
	s.Advance(0)
	require.True(t, s.Apply(agent.ModelReplied{Key: s.Next().(agent.CallModel).Key, Reply: llmtest.Call(llmtest.ToolCall("1", "pay", "{}"))}))
	call := s.Pending()[0].Key
	require.True(t, s.Apply(agent.Rewound{Run: "reset"}))
	require.True(t, s.Apply(agent.Interrupt{}.Stopped(1)))
	packed, err := protocol.Pack(s)
	require.NoError(t, err)
	sent := make(chan struct{})
	b.RegisterActivityWithOptions(func(context.Context, protocol.ReadAgentInput) (protocol.Page, error) {
		<-sent
		return protocol.Page{Data: packed, Pages: 1}, nil
	}, activity.RegisterOptions{Name: protocol.ReadAgent})
	outcomes := map[string]error{}
	decide := func(after time.Duration, name string, key agent.Key, then func()) {
		b.RegisterDelayedCallback(func() {
			b.UpdateWorkflow(protocol.DecideUpdate, name, &testsuite.TestUpdateCallback{
				OnAccept:   func() {},
				OnReject:   func(err error) { outcomes[name] = err },
				OnComplete: func(_ any, err error) { outcomes[name] = err },
			}, agent.Decision{Key: key, Approve: true})
			then()
		}, after)
	}
	decide(0, "before the state", call, func() { close(sent) })
	decide(time.Hour, "after the state", call, func() {})
	decide(2*time.Hour, "on a later call", "tool-00000000000000000000000000000000", b.CancelWorkflow)
	b.ExecuteWorkflow(protocol.AgentWorkflow, agent.Start{
		Agent: "x", Mode: agent.Chat, KeyVersion: agent.KeyVersion, Incarnation: "l", From: &agent.RunRef{ID: "default-test-workflow-id", RunID: "earlier", Resume: true},
	})
	require.True(t, b.IsWorkflowCompleted())
	require.ErrorContains(t, outcomes["before the state"], "no open call has this key")
	require.ErrorContains(t, outcomes["after the state"], "no open call has this key")
	require.Contains(t, outcomes, "on a later call")
	require.NoError(t, outcomes["on a later call"])
}

// open returns the calls that have no result.
func (b *bench) open(t *testing.T) (calls []agent.Call) {
	value, err := b.QueryWorkflow(protocol.PendingQuery)
	require.NoError(t, err)
	require.NoError(t, value.Get(&calls))
	return calls
}

// decideAfter sends a decision after the given time, and checks why it is refused. Without a key, the decision is on the first open
// call. The key "first" stands for the call of the first such decision.
func (b *bench) decideAfter(t *testing.T, after time.Duration, d agent.Decision, refused string) {
	answered := false
	b.RegisterDelayedCallback(func() {
		switch d.Key {
		case "":
			d.Key = b.open(t)[0].Key
			b.decided = append(b.decided, d.Key)
		case "first":
			d.Key = b.decided[len(b.decided)-1]
		}
		b.UpdateWorkflow(protocol.DecideUpdate, after.String(), &testsuite.TestUpdateCallback{
			OnAccept:   func() { answered = refused == "" },
			OnReject:   func(err error) { answered = refused != "" && strings.Contains(err.Error(), refused) },
			OnComplete: func(any, error) {},
		}, d)
	}, after)
	t.Cleanup(func() { require.True(t, answered, "%v: %q", after, refused) })
}
