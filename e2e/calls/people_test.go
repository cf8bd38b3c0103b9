package calls_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/history"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
	"github.com/reagent-dev/reagent/workflows"
)

// A question waits for its answer as state. The next message is the answer, which outlives a crash and a reset.
func TestQuestionIsAnsweredByTheNextMessage(t *testing.T) {
	t.Parallel()
	w := world.New(t, world.Script(
		llmtest.Call(llmtest.ToolCall("1", "ask_user", `{"question":"Which colour?","choices":["red","blue"]}`)),
		llmtest.Say("blue it is"),
	), nil, "    tools: [ask_user]\n")
	first := w.Worker()
	id := t.Name()
	run := w.Start("starter", "run", "--id", id, "paint it")
	w.Eventually("the person is told", func() bool { return strings.Contains(run.Output(), "asks a question") })
	first.Kill()
	shown := w.Must("inbox")
	require.Contains(t, shown, "asks: Which colour?\n  1  red\n  2  blue\n  starter answer "+id+" --call ")
	w.Worker()
	_, stderr, code := w.Starter("approve", id)
	require.Equal(t, 4, code, stderr)
	_, stderr, code = w.Starter("send", "--message-id", "colour", id, "blue")
	require.Equal(t, 0, code, stderr)
	require.Contains(t, stderr, "answers the agent's question")
	w.Eventually("the command ends with the answer", func() bool { return run.Ended() && strings.Contains(run.Output(), "blue it is") })
	require.Equal(t, "tool: blue", w.Show(id).Lines()[2])
	w.Reset(id, "", 2)
	w.Finished(id, "blue it is")
	require.Equal(t, "tool: blue", w.Show(id).Lines()[2])
	w.NothingTwice()
}

// The number of a choice answers a question on every path: `answer`, `send` and a chat without a terminal. A text that is no number of a
// choice is the answer as it is.
func TestNumberOfAChoiceAnswersOnEveryPath(t *testing.T) {
	t.Parallel()
	asks := func(n string) llm.Reply {
		return llmtest.Call(llmtest.ToolCall(n, "ask_user", `{"question":"Which colour?","choices":["red","blue"]}`))
	}
	w := world.New(t, world.Script(asks("1"), asks("2"), asks("3"), asks("4"), llmtest.Say("done")), nil, "    tools: [ask_user]\n")
	w.Worker()
	id := t.Name()
	w.Must("run", "--detach", "--chat", "--id", id, "paint it")
	waits := func(n int) {
		t.Helper()
		w.Eventually("the question waits", func() bool {
			calls := inboxOf(w, id)
			return len(calls) == 1 && len(w.Show(id).Lines()) == 2*n
		})
	}
	waits(1)
	_, stderr, code := w.Starter("answer", id, "2")
	require.Zero(t, code, stderr)
	require.Regexp(t, `^Answered \w+ ask_user of agent `+id+` with: blue\n$`, stderr)
	waits(2)
	_, stderr, code = w.Starter("answer", id, "3")
	require.Zero(t, code, stderr)
	require.NotContains(t, stderr, "with:")
	waits(3)
	next := w.Start("starter", "send", id, "1")
	w.Eventually("the message answers", func() bool { return strings.Contains(next.Output(), "answers the agent's question with: red.") })
	waits(4)
	_, stderr, code = w.StarterWith("2\n", "chat", id)
	require.Zero(t, code, stderr)
	w.Eventually("the agent answers", func() bool { return len(w.Show(id).Lines()) == 10 })
	lines := w.Show(id).Lines()
	require.Equal(t, []string{"tool: blue", "tool: 3", "tool: red", "tool: blue"}, []string{lines[2], lines[4], lines[6], lines[8]})
}

// The result of an external call comes once, from outside, or not at all within its time.
func TestExternalCallGetsItsResultOnce(t *testing.T) {
	t.Parallel()
	w := world.New(t, world.Script(
		llmtest.Call(llmtest.ToolCall("1", "deploy", `{"version":12}`), llmtest.ToolCall("2", "hurry", `{}`)),
		llmtest.Say("done"),
	), nil, "    tools: [deploy, hurry]\nexternal:\n  deploy: {description: deploys}\n  hurry: {description: waits for a second, timeout: 1s}\n")
	w.Worker()
	id := t.Name()
	w.Must("run", "--detach", "--id", id, "deploy 12")
	w.Eventually("one call waits", func() bool { calls := inboxOf(w, id); return len(calls) == 1 && calls[0].Tool == "deploy" })
	call := inboxOf(w, id)[0]
	require.JSONEq(t, `{"version":12}`, call.Arguments)
	refused := func(says string, args ...string) {
		t.Helper()
		_, stderr, code := w.Starter(args...)
		require.Equal(t, 4, code)
		require.Contains(t, stderr, says)
	}
	refused("use `starter complete`", "answer", id, "--call", call.Handle, "no question")
	refused("no question of agent", "answer", id, "no question")
	given := world.Objects[struct{ Verdict, Handle, Given string }](w, "complete", id, "--call", call.Key, "--json", "deployed")
	require.Equal(t, []struct{ Verdict, Handle, Given string }{{"completed", call.Handle, "deployed"}}, given)
	refused("", "complete", id, "--call", call.Handle, "deployed twice")
	w.Finished(id, "done")
	for _, args := range [][]string{{"complete", id, "late"}, {"answer", id, "late"}, {"approve", id, call.Handle}, {"deny", id, "--all", "--yes"}} {
		refused("the agent has ended: completed", args...)
	}
	require.Equal(t, []string{"tool: deployed", "tool: error: no result came from outside within 1 second; outcome unknown — check before you retry"}, w.Show(id).Lines()[2:4])
}

// A call is denied if nobody decides in time. An approval may permit later calls, until it is revoked.
func TestApprovalHasALimitAndMayBeRemembered(t *testing.T) {
	t.Parallel()
	tools := world.NewToolServer(t)
	tools.Add("pay", nil, world.Echo)
	pay := func(n string) llm.Reply { return llmtest.Call(llmtest.ToolCall("1", "pay", n)) }
	w := world.New(t, world.Script(
		pay(`{"n":1}`), pay(`{"n":2}`), llmtest.Say("two"), pay(`{"n":3}`), llmtest.Say("none"),
	), tools, "    tools: [far.*]\n    approval: {default: always}\n    approval_timeout: 5s\n")
	worker := w.Worker()
	id := t.Name()
	w.Must("run", "--detach", "--chat", "--id", id, "pay")
	w.Eventually("the call waits", func() bool { return len(inboxOf(w, id)) == 1 })
	w.Must("approve", id, "--for-agent")
	w.Eventually("both are paid", func() bool {
		read, err := w.Client.ShowRecorded(t.Context(), id)
		return err == nil && read.Answer == "two"
	})
	worker.Kill()
	permissions := world.Objects[struct{ Handle, Tool, By string }](w, "permissions", id, "--json")
	require.Len(t, permissions, 1)
	require.Equal(t, "pay", permissions[0].Tool)
	require.NotEmpty(t, permissions[0].By)
	w.Worker()
	w.Must("revoke", id, permissions[0].Handle)
	w.Must("send", id, "again") // nobody decides, and the call is denied
	lines := w.Show(id).Lines()
	require.Equal(t, "tool: denied: nobody decided on this call within 5 seconds", lines[len(lines)-2])
	require.Len(t, tools.Effects(), 2)
	w.NothingTwice()
}

// An agent that was cancelled first tells its hook of its end. A permission that is revoked meanwhile is gone when the agent is resumed.
func TestPermissionIsRevokedWhileTheAgentTellsOfItsEnd(t *testing.T) {
	t.Parallel()
	told := world.NewGate()
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _ = told.Pass(r.Context()) }))
	t.Cleanup(hook.Close)
	tools := world.NewToolServer(t)
	tools.Add("pay", nil, world.Echo)
	w := world.New(t, world.Script(
		llmtest.Call(llmtest.ToolCall("1", "pay", `{"n":1}`)), llmtest.Say("paid"), llmtest.Call(llmtest.ToolCall("2", "pay", `{"n":2}`)), llmtest.Say("done"),
	), tools, fmt.Sprintf("    tools: [far.*]\n    approval: {default: always}\nnotify:\n  pager: {url: %q, on: [ended]}\n", hook.URL))
	w.Worker()
	id := t.Name()
	w.Must("run", "--detach", "--chat", "--id", id, "pay")
	w.Eventually("the call waits", func() bool { return len(inboxOf(w, id)) == 1 })
	w.Must("approve", id, "--for-agent")
	require.Equal(t, "assistant: paid", w.Transcript(id, 4)[3])
	permissions, err := w.Client.Permissions(t.Context(), id)
	require.NoError(t, err)
	require.Len(t, permissions, 1)

	_, err = w.Client.Cancel(t.Context(), id)
	require.NoError(t, err)
	told.Wait(t)
	require.NoError(t, w.Client.Revoke(t.Context(), id, permissions[0].Key))
	close(told.Open)
	w.Ends(id, "cancelled")
	w.Must("resume", "--detach", id)
	w.Must("send", "--detach", id, "pay again")
	w.Eventually("the call waits", func() bool { return len(inboxOf(w, id)) == 1 })
	require.Len(t, tools.Effects(), 1)
	w.Must("deny", id)
	require.Contains(t, w.Transcript(id, 8)[6], "denied")
	require.Len(t, tools.Effects(), 1)
	w.NothingTwice()
}

// An interrupt ends the model call, the tool call and the sub-agent that run, as seen at their far sides. The agent keeps
// everything, and the next message goes into the interrupted turn.
func TestInterruptStopsWhatRuns(t *testing.T) {
	t.Parallel()
	var stoppedTools, stoppedModels atomic.Int32
	gate, childGate, modelGate := world.NewGate(), world.NewGate(), world.NewGate()
	tools := world.NewToolServer(t)
	tools.Add("slow", nil, func(ctx context.Context, _ world.Effect) (string, error) {
		err := gate.Pass(ctx)
		if err != nil {
			stoppedTools.Add(1)
		}
		return "slow", err
	})
	w := world.New(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		if req.Messages[0].Content == "You count." {
			if err := childGate.Pass(ctx); err != nil {
				stoppedModels.Add(1)
				return llm.Reply{}, err
			}
		}
		last := req.Messages[len(req.Messages)-1].Content
		switch last {
		case "first":
			return llmtest.Call(llmtest.ToolCall("1", "slow", `{}`), llmtest.ToolCall("2", "clerk", `{"task":"count"}`)), nil
		case "second":
			if err := modelGate.Pass(ctx); err != nil {
				stoppedModels.Add(1)
				return llm.Reply{}, err
			}
		}
		return llmtest.Say("answer to " + last), nil
	}, tools, "    agents: [clerk]\n    tools: [far.*]\n  clerk:\n    model: main\n    description: counts\n    instructions: You count.\n")
	w.Worker()
	id := t.Name()
	w.Must("run", "--detach", "-a", "x", "--id", id, "first")
	gate.Wait(t)
	childGate.Wait(t)
	w.Must("interrupt", id)
	w.Eventually("the tool is stopped", func() bool { return stoppedTools.Load() == 1 })
	w.Eventually("the model call of the sub-agent is stopped", func() bool { return stoppedModels.Load() == 1 })
	shown := w.Show(id)
	require.Equal(t, "held", shown.Status)
	require.Equal(t, []string{
		"tool: no result: a person interrupted the turn; outcome unknown — check before you retry",
		"tool: error: the agent clerk ended without an answer: a person interrupted the turn",
	}, shown.Lines()[2:])
	_, stderr, code := w.Starter("interrupt", id)
	require.Equal(t, 4, code, stderr)
	require.Contains(t, stderr, "no turn is running")

	w.Must("send", "--detach", id, "second")
	modelGate.Wait(t)
	w.Must("interrupt", id, "--message", "third")
	w.Eventually("the model call is stopped", func() bool { return stoppedModels.Load() == 2 })
	w.Finished(id, "answer to third")
	lines := w.Show(id).Lines()
	require.Equal(t, []string{"user: second", "user: third", "assistant: answer to third"}, lines[len(lines)-3:])
}

// The model answers a question aside from the transcript so far, while a tool runs. The transcript does not get the question.
func TestQuestionAside(t *testing.T) {
	t.Parallel()
	gate := world.NewGate()
	tools := world.NewToolServer(t)
	tools.Add("slow", nil, func(ctx context.Context, _ world.Effect) (string, error) { return "slow", gate.Pass(ctx) })
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		last := req.Messages[len(req.Messages)-1]
		switch {
		case strings.Contains(last.Content, "Say nothing!"):
			return llmtest.Call(llmtest.ToolCall("1", "slow", `{}`)), nil
		case strings.Contains(last.Content, "asks you aside") && len(req.Messages) == 2:
			return llmtest.Say("I do: " + req.Messages[0].Content), nil
		case last.Content == "go slowly":
			return llmtest.Call(llmtest.ToolCall("1", "slow", `{}`)), nil
		}
		return llmtest.Say("done"), nil
	}, tools, "")
	w.Worker()
	id := t.Name()
	w.Must("run", "--detach", "--id", id, "go slowly")
	gate.Wait(t)
	require.Equal(t, "I do: go slowly\n", w.Must("aside", id, "What are you doing?"))
	_, stderr, code := w.Starter("aside", id, " ")
	require.NotEqual(t, 0, code, stderr)
	_, stderr, code = w.Starter("aside", id, "Say nothing!")
	require.Equal(t, 4, code, stderr)
	require.Contains(t, stderr, "without a text")
	close(gate.Open)
	w.Finished(id, "done")
	require.Equal(t, []string{"user: go slowly", "assistant: [slow {}]", "tool: slow", "assistant: done"}, w.Show(id).Lines())
	_, stderr, code = w.Starter("aside", id, "And now?")
	require.Equal(t, 4, code, stderr)
	w.NothingTwice()
}

// An MCP server asks a person during a call. The call waits as state, over a crash of the worker, and goes on with the answer. An answer
// that does not fit is asked for again. After a reset, the answers hold.
func TestMCPServerAsksAPerson(t *testing.T) {
	t.Parallel()
	tools := world.NewToolServer(t)
	// A server with sessions speaks an earlier version of the protocol, which cannot ask in this way.
	listener := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return tools.Server }, &mcp.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(listener.Close)
	tools.URL = listener.URL
	var booked atomic.Int64
	tools.AddTool(&mcp.Tool{Name: "book", InputSchema: world.AnyObject}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		answer, ok := r.Params.InputResponses["seat"].(*mcp.ElicitResult)
		if !ok {
			return &mcp.CallToolResult{RequestState: "row 1", InputRequests: mcp.InputRequestMap{"seat": &mcp.ElicitParams{
				Mode: "form", Message: "Which seat?",
				RequestedSchema: json.RawMessage(`{"type":"object","properties":{"side":{"type":"string","enum":["window","aisle"]}},"required":["side"]}`),
			}}}, nil
		}
		booked.Add(1)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint(r.Params.RequestState, ": ", answer.Content["side"])}}}, nil
	})
	w := world.New(t, world.Script(llmtest.Call(llmtest.ToolCall("1", "book", "{}")), llmtest.Say("booked")), tools, "    tools: [far.*]\n")
	first := w.Worker()
	id := t.Name()
	w.Must("run", "--detach", "--id", id, "book a seat")
	w.Eventually("the person is asked", func() bool { return strings.Contains(w.Must("inbox"), "asks: the tool book asks: Which seat?") })
	first.Kill()
	require.Contains(t, w.Must("inbox"), "  1  window\n  2  aisle\n")
	w.Worker()
	w.Must("answer", id, "roof")
	w.Eventually("the person is asked again", func() bool { return strings.Contains(w.Must("inbox"), "The answer does not fit") })
	require.Zero(t, booked.Load())
	w.Must("send", id, "aisle")
	w.Finished(id, "booked")
	require.Equal(t, "tool: row 1: aisle", w.Show(id).Lines()[2])
	run := w.RunID(id)
	for task := w.TaskCount(id, run); task > 0; task-- {
		copied := 0
		for event, err := range history.Events(t.Context(), w.Temporal, agent.RunRef{ID: id, RunID: run, Events: w.TaskEnd(id, run, task)}) {
			require.NoError(t, err)
			if event.GetMarkerRecordedEventAttributes().GetMarkerName() == workflows.WaitMarker {
				copied++
			}
		}
		w.Reset(id, run, task)
		w.Finished(id, "booked")
		require.Len(t, waitMarks(w, id, w.RunID(id)), copied, "nobody is asked again after a reset to task %d", task)
	}
	require.EqualValues(t, 1, booked.Load())
	w.NothingTwice()
}
