package history_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/app/devserver"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/internal/testkit/recording"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// record is the folder to which TestRecordHistories writes histories. If it is empty, the test is skipped. Tests of
// package workflows replay these histories. They also replay those of earlier releases, so new histories do not replace
// old ones.
var record = flag.String("record", "", "write recorded histories to this `folder`")

// TestRecordHistories records agents in which every feature occurs that leaves something in a history. The name of a file is that of the
// agent. If an agent has several recorded runs, "~" and a number follow.
func TestRecordHistories(t *testing.T) {
	if *record == "" {
		t.Skip("give -record FOLDER to record histories")
	}
	require.NoError(t, os.MkdirAll(*record, 0o755))
	r := newRecorder(t)
	r.Worker()
	r.conversations()
	r.people()
	r.subAgents()
	r.runs()
}

type recorder struct {
	*world.World
	// busy holds the model call of the task "busy".
	busy *world.Gate
}

func newRecorder(t *testing.T) *recorder {
	tools := world.NewToolServer(t)
	stateless := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return tools.Server }, &mcp.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(stateless.Close)
	tools.URL = stateless.URL
	tools.Add("read", world.ReadOnly, world.Echo)
	tools.Add("pay", nil, world.Echo)
	tools.Add("wire", nil, world.Echo)
	tools.AddTool(&mcp.Tool{Name: "book", InputSchema: world.AnyObject}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		answer, ok := r.Params.InputResponses["seat"].(*mcp.ElicitResult)
		if !ok {
			return &mcp.CallToolResult{RequestState: "row 1", InputRequests: mcp.InputRequestMap{"seat": &mcp.ElicitParams{
				Mode: "form", Message: "Which seat?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"side":{"type":"string"}}}`),
			}}}, nil
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint(answer.Content["side"])}}}, nil
	})
	hook := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(hook.Close)
	r := &recorder{busy: world.NewGate()}
	r.World = world.New(t, r.reply, tools, "    tools: [far.*, deploy, ask_user]\n")
	r.WriteConfig(fmt.Sprintf(`task_queue: %[1]s
models:
  main: {model: scripted, base_url: %[2]q, price: {input: 1, output: 2}}
  responses: {model: scripted, base_url: %[2]q, api: responses}
  messages: {provider: anthropic, model: scripted, base_url: %[3]q}
mcp_servers:
  far: {url: %[4]q}
external:
  deploy: {description: deploys}
notify:
  pager: {url: %[5]q}
agents:
  x:
    model: main
    tools: [far.*, deploy, ask_user]
    approval: {far.wire: always}
    approval_timeout: 1h
    agents: [y, z]
    background: [z]
    limits: {cost: 1}
  y: {model: main}
  z: {model: main}
  over-responses: {model: responses, tools: [far.read]}
  over-messages: {model: messages, tools: [far.read]}
  short: {model: main, limits: {context_tokens: 1000}}
`, r.Queue, r.Model.URL, strings.TrimSuffix(r.Model.URL, "/v1"), tools.URL, hook.URL))
	own, err := devserver.Start(t.Context(), devserver.Options{SearchAttributes: protocol.AttributeTypes()})
	require.NoError(t, err)
	t.Cleanup(own.Stop)
	r.MoveTo(own)
	return r
}

// reply is the model. What it says depends on the first message of the conversation, and on how often it has called tools.
func (r *recorder) reply(ctx context.Context, req llm.Request) (llm.Reply, error) {
	first := 0
	for req.Messages[first].Role == llm.System {
		first++
	}
	task, last := req.Messages[first].Content, req.Messages[len(req.Messages)-1].Content
	call := llmtest.ToolCall
	replies := map[string][]llm.Reply{
		"task": {llmtest.Call(call("1", "read", `{"n":1}`))},
		"parallel": {
			llmtest.Call(call("1", "read", `{}`), call("2", "pay", `{"n":2}`), call("2", "pay", `{"n":2}`), call("3", "fly", `{}`), call("4", "pay", `{"n":`)),
			llmtest.Call(call("1", "read", `{}`)),
		},
		"parent":      {llmtest.Call(call("1", "y", `{"task":"child"}`), call("2", "y", `{"task":"child"}`))},
		"background":  {llmtest.Call(call("1", "z", `{"task":"a child"}`)), llmtest.Call(call("2", "agents", `{}`))},
		"waits":       {llmtest.Call(call("1", "wire", `{"n":1}`), call("2", "deploy", `{"version":12}`))},
		"question":    {llmtest.Call(call("1", "ask_user", `{"question":"which?","choices":["a","b"]}`))},
		"elicitation": {llmtest.Call(call("1", "book", `{}`))},
		"permission":  {llmtest.Call(call("1", "wire", `{"n":1}`)), llmtest.Call(call("2", "wire", `{"n":2}`))},
	}
	switch n := world.Asked(req); {
	case strings.HasPrefix(last, "The conversation grows too long"):
		return llmtest.Say("They greeted each other."), nil
	case task == "held" && len(req.Messages) == 1:
		return llm.Reply{}, &llm.Error{Class: llm.InvalidRequest, Message: "no"}
	case task == "permission" && last == "more":
		return llmtest.Call(call("3", "wire", `{"n":3}`)), nil
	case task == "busy" && last == "busy":
		if err := r.busy.Pass(ctx); err != nil {
			return llm.Reply{}, err
		}
	case n < len(replies[task]):
		return replies[task][n], nil
	}
	reply := llmtest.Say("answer to " + last)
	reply.Usage = llm.Usage{InputTokens: 400 * len(req.Messages), OutputTokens: 10}
	return reply, nil
}

func (r *recorder) saveRun(name, id, run string) {
	h := new(historypb.History)
	events := r.Temporal.GetWorkflowHistory(r.T.Context(), id, run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		require.NoError(r.T, err)
		h.Events = append(h.Events, event)
	}
	require.NoError(r.T, recording.Write(filepath.Join(*record, name+".json.gz"), recording.Recording{ID: id, RunID: run, History: h}))
}

func (r *recorder) save(id string) { r.saveRun(id, id, r.RunID(id)) }

func (r *recorder) closed(id string) {
	r.Must("close", id)
	r.Eventually("the chat ends", func() bool { return r.Show(id).Status == "completed" })
}

// waiting waits until so many calls wait for people.
func (r *recorder) waiting(calls int) {
	r.Eventually("calls wait", func() bool { return len(world.Objects[struct{}](r.World, "inbox", "--json")) == calls })
}

func (r *recorder) conversations() {
	for _, id := range []string{"task", "parallel"} {
		r.Must("run", "-a", "x", "--id", id, id)
		r.save(id)
	}
	for _, id := range []string{"over-responses", "over-messages"} {
		r.Must("run", "-a", id, "--id", id, "task")
		r.save(id)
	}
	r.Must("run", "-a", "x", "--chat", "--id", "chat", "hello")
	r.Must("send", "chat", "more")
	r.closed("chat")
	r.save("chat")

	r.Must("run", "-a", "short", "--chat", "--id", "summarised", "hello")
	for _, text := range []string{"how are you?", "and how is she?", "and he?"} {
		r.Must("send", "summarised", text)
	}
	require.Positive(r.T, r.Show("summarised").Usage["compactions"])
	r.closed("summarised")
	r.save("summarised")

	r.Starter("run", "-a", "x", "--chat", "--id", "held", "held")
	r.Must("send", "held", "again")
	r.Must("cancel", "held")
	r.Eventually("it is cancelled", func() bool { return r.Show("held").Status == "cancelled" })
	r.save("held")

	r.Must("run", "--detach", "-a", "x", "--chat", "--id", "busy", "busy")
	r.busy.Wait(r.T)
	r.Must("send", "--detach", "busy", "steered")
	r.Must("interrupt", "busy", "--message", "go on")
	close(r.busy.Open)
	require.Contains(r.T, r.Must("aside", "busy", "what are you doing?"), "answer to ")
	r.Must("reload", "busy")
	r.Must("send", "busy", "more")
	r.closed("busy")
	r.save("busy")
}

func (r *recorder) people() {
	r.Must("run", "--detach", "-a", "x", "--id", "waits", "waits")
	r.waiting(2)
	r.Must("complete", "waits", "deployed")
	first := r.RunID("waits")
	r.Reset("waits", "", r.TaskCount("waits", ""))
	r.waiting(1)
	r.Must("approve", "waits")
	r.Finished("waits", "answer to deployed")
	r.saveRun("waits~1", "waits", first)
	r.saveRun("waits~2", "waits", r.RunID("waits"))

	r.Must("run", "--detach", "-a", "x", "--id", "question", "question")
	r.waiting(1)
	r.Must("answer", "question", "a")
	r.Finished("question", "answer to a")
	r.save("question")

	r.Must("run", "--detach", "-a", "x", "--id", "elicitation", "elicitation")
	r.waiting(1)
	r.Must("answer", "elicitation", "aisle")
	r.Finished("elicitation", "answer to aisle")
	r.save("elicitation")

	r.Must("run", "--detach", "-a", "x", "--chat", "--id", "permission", "permission")
	r.waiting(1)
	r.Must("approve", "permission", "--for-agent")
	r.Eventually("it answers", func() bool { return r.Show("permission").Status == "waiting" })
	r.Must("revoke", "permission")
	r.Must("send", "--detach", "permission", "more")
	r.waiting(1)
	r.Must("deny", "permission")
	r.closed("permission")
	r.Must("run", "--detach", "-a", "x", "--id", "denied", "waits")
	r.waiting(2)
	r.Must("deny", "denied", "--reason", "not now")
	r.Must("complete", "denied", "deployed")
	r.Finished("denied", "answer to deployed")
	for _, id := range []string{"permission", "denied"} {
		r.save(id)
	}
}

func (r *recorder) subAgents() {
	r.Must("run", "-a", "x", "--id", "parent", "parent")
	r.save("parent")
	r.Must("run", "-a", "x", "--id", "background", "background")
	r.save("background")
}

func (r *recorder) runs() {
	r.Must("run", "-a", "x", "--chat", "--id", "rolled", "hello")
	first := r.RunID("rolled")
	_, err := r.Client.UpgradeAndWait(r.T.Context(), "rolled", nil)
	require.NoError(r.T, err)
	r.Must("send", "rolled", "more")
	r.closed("rolled")
	r.saveRun("rolled~1", "rolled", first)
	r.saveRun("rolled~2", "rolled", r.RunID("rolled"))

	r.Must("run", "-a", "x", "--id", "reset", "parallel")
	r.Reset("reset", "", 3)
	r.Eventually("it ends again", func() bool { return r.Show("reset").Status == "completed" })
	r.save("reset")

	r.Must("run", "-a", "x", "--chat", "--id", "again", "parent")
	r.Must("send", "again", "more")
	first = r.RunID("again")
	second := r.Reset("again", first, r.TaskCount("again", first)/2)
	r.Must("send", "again", "still more")
	r.Reset("again", second, r.TaskCount("again", second)-1)
	r.Eventually("all messages are answered", func() bool {
		again := r.Show("again") // the message may come before the answer to an earlier one, so the number of answers differs
		lines := strings.Join(again.Lines(), "\n")
		return again.Status == "waiting" && strings.Contains(lines, "user: more") && strings.Contains(lines, "user: still more")
	})
	r.Must("send", "again", "the end")
	r.closed("again")
	r.save("again")

	r.Must("run", "-a", "x", "--chat", "--id", "resumed", "parallel")
	require.NoError(r.T, r.Temporal.TerminateWorkflow(r.T.Context(), "resumed", "", "test"))
	r.Must("resume", "resumed", "--message", "go on")
	r.closed("resumed")
	r.save("resumed")

	r.Must("fork", "chat", "--id", "fork", "--message", "and now?")
	r.closed("fork")
	r.save("fork")
}
