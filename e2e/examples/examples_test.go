package examples_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/dial"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

var buildExamples = sync.OnceValue(func() error {
	return world.Build("", "./examples/...")
})

// newExample builds the programs in examples/ and returns a world for them with the given task queue. It sets
// environment variables such as OPENAI_BASE_URL, so that these programs use the scripted model.
func newExample(t *testing.T, queue string, model func(context.Context, llm.Request) (llm.Reply, error)) *world.World {
	require.NoError(t, buildExamples())
	w := world.New(t, model, nil, "")
	w.Queue, w.Client = queue, world.AgentsOf(world.Temporal, queue)
	w.Config = "" // until the example has one
	t.Setenv("OPENAI_BASE_URL", w.Model.URL)
	t.Setenv("OPENAI_MODEL", "scripted")
	t.Setenv("OPENAI_API_KEY", "key-of-the-examples")
	return w
}

// configure gives w a copy of an example's configuration. The parameter path is the path of the configuration in the
// module. The parameter replace has pairs of texts: in the copy, the second text of each pair replaces the first one.
// The examples have no base_url, so OPENAI_BASE_URL names the scripted model: see [newExample].
func configure(w *world.World, path string, replace ...string) {
	data, err := os.ReadFile(world.Path(path))
	require.NoError(w.T, err)
	yaml := string(data)
	for i := 0; i < len(replace); i += 2 {
		require.Contains(w.T, yaml, replace[i])
		yaml = strings.ReplaceAll(yaml, replace[i], replace[i+1])
	}
	w.WriteConfig(yaml)
}

// serving starts a program, and waits until it is ready. The program runs until it is killed.
func serving(w *world.World, name string) *world.Process {
	p := w.Start(name)
	w.Eventually(name+" is ready", func() bool {
		require.False(w.T, p.Ended(), "%s", p.Output())
		return strings.Contains(p.Output(), "Ready.")
	})
	return p
}

// The program of the README starts an agent and prints its answer. If the program is killed and started again, the agent goes on. The next
// start prints the stored answer.
func TestExampleHelloAsksItsAgent(t *testing.T) {
	g := world.NewGate()
	w := newExample(t, "hello", func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		if world.Asked(req) == 1 { // between the price and the answer
			if err := g.Pass(ctx); err != nil {
				return llm.Reply{}, err
			}
		}
		return world.Script(llmtest.Call(llmtest.ToolCall("1", "price", `{"Name":"cherry"}`)), llmtest.Say(`{"Euros":9}`))(ctx, req)
	})
	first := w.Start("hello")
	g.Wait(t)
	first.Kill()
	close(g.Open)
	for range 2 {
		out, err := w.Command("hello").Output()
		require.NoError(t, err)
		require.Equal(t, "9\n", string(out))
	}
	require.ElementsMatch(t, []int{1, 2}, world.Values(w.Requests()), "only the request in flight is repeated")
}

// A worker that is built with the library recovers as cmd/worker does. If it is killed during a model call, only this
// call is made again.
func TestExampleGoToolOrdersOnceThoughItsWorkerIsKilled(t *testing.T) {
	g := world.NewGate()
	w := newExample(t, "gotool", func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		if world.Asked(req) == 2 { // between the order and the answer
			if err := g.Pass(ctx); err != nil {
				return llm.Reply{}, err
			}
		}
		return world.Script(
			llmtest.Call(llmtest.ToolCall("1", "price", `{"name":"cherry"}`), llmtest.ToolCall("2", "price", `{"name":"melon"}`)),
			llmtest.Call(llmtest.ToolCall("3", "order", `{"name":"cherry","kilos":2}`)),
			llmtest.Say("Ordered for 18 euros."),
		)(ctx, req)
	})
	first := serving(w, "gotool")
	w.Must("run", "--task-queue", "gotool", "-a", "clerk", "--id", t.Name(), "--detach", "Two kilos of cherries, please")
	g.Wait(t)
	first.Kill()
	serving(w, "gotool")
	w.Eventually("the agent has answered", func() bool { return w.Show(t.Name()).Status == "completed" })
	require.Equal(t, []string{
		"user: Two kilos of cherries, please",
		`assistant: [price {"name":"cherry"}][price {"name":"melon"}]`,
		"tool: 9 euros", `tool: there is no fruit "melon"`,
		`assistant: [order {"name":"cherry","kilos":2}]`,
		"tool: order 1: 2 kg of cherry",
		"assistant: Ordered for 18 euros.",
	}, w.Show(t.Name()).Lines())
	require.ElementsMatch(t, []int{1, 1, 2}, world.Values(w.Requests()), "only the request in flight is repeated")
}

// The support desk streams the reply, lets an employee approve what is expensive, and gives the same reply to a request that is repeated. The
// shop gets one refund, for the customer of the chat. Nobody without the key reads the chat, and each customer has a cost.
func TestExampleSupportIsAWholeProduct(t *testing.T) {
	const answer, verdict = "You get 80 euros back.", `{"urgent":true,"summary":"broken"}`
	w := newExample(t, "support", func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		if len(req.Tools) == 0 {
			return llmtest.Say(verdict), nil
		}
		reply, err := world.Script(
			llmtest.Call(llmtest.ToolCall("1", "orders", `{}`)), llmtest.Call(llmtest.ToolCall("2", "refund", `{"order":"A1","euros":80}`)), llmtest.Say(answer),
		)(ctx, req)
		reply.Usage = llm.Usage{InputTokens: 1000, OutputTokens: 1000}
		return reply, err
	})
	var mu sync.Mutex
	posted := map[string]int{} // by path and key
	shop := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			mu.Lock()
			defer mu.Unlock()
			posted[r.URL.Path+" "+r.Header.Get("Idempotency-Key")]++
		}
	}))
	defer shop.Close()
	sent := func() map[string]int {
		mu.Lock()
		defer mu.Unlock()
		return maps.Clone(posted)
	}
	address := fmt.Sprint("127.0.0.1:", world.FreePort(t))
	key := strings.Repeat("ab", 32)
	for name, value := range map[string]string{
		"ADDRESS": address, "SHOP_URL": shop.URL, "SUPPORT_KEY": key,
		"TEMPORAL_CODEC_ENDPOINT": "", "TEMPORAL_CODEC_AUTH": "", // of a run of all tests with a codec server
	} {
		t.Setenv(name, value)
	}
	p := serving(w, "support")
	ask := func(method, path, body string) (status int, text string) {
		w.Eventually("the desk answers", func() bool {
			require.False(t, p.Ended(), "%s", p.Output())
			r, err := http.NewRequestWithContext(t.Context(), method, "http://"+address+path, strings.NewReader(body))
			require.NoError(t, err)
			response, err := http.DefaultClient.Do(r)
			if err != nil {
				return false
			}
			defer response.Body.Close()
			read, err := io.ReadAll(response.Body)
			require.NoError(t, err)
			status, text = response.StatusCode, string(read)
			return true
		})
		return status, text
	}
	anna := fmt.Sprint("anna-", time.Now().UnixNano()) // for several runs on one server
	chat, id := "/customers/"+anna+"/chats/1", "chat/"+anna+"/1"
	const message = `{"id":"m1","text":"The kettle broke."}`
	var last struct {
		Waiting []struct{ Call, Tool, Arguments string }
	}
	for range 2 {
		status, text := ask("POST", chat, message)
		require.Equal(t, 200, status, text)
		_, data, found := strings.Cut(text, "event: reply\ndata: ")
		require.True(t, found, text)
		require.NoError(t, json.Unmarshal([]byte(data), &last))
		require.Len(t, last.Waiting, 1, text)
		require.Equal(t, "refund", last.Waiting[0].Tool)
		require.JSONEq(t, `{"order":"A1","euros":80}`, last.Waiting[0].Arguments)
	}
	require.Empty(t, sent())
	status, text := ask("POST", chat+"/calls/"+last.Waiting[0].Call, `{"verdict":"approve","by":"ben"}`)
	require.Equal(t, 200, status, text)
	status, text = ask("POST", chat+"/calls/"+last.Waiting[0].Call, `{"verdict":"approve","by":"ben"}`)
	require.Equal(t, 409, status, text)
	for range 2 {
		_, text = ask("POST", chat, message)
		require.Contains(t, text, `event: reply`+"\n"+`data: {"answer":"`+answer+`"}`)
	}
	require.Len(t, sent(), 1)
	for request, times := range sent() {
		require.True(t, strings.HasPrefix(request, "/customers/"+anna+"/refunds tool-"), request)
		require.Equal(t, 1, times)
	}
	w.Eventually("the three model calls of anna have a cost", func() bool { // the list comes a little later
		_, text = ask("GET", "/customers/"+anna+"/cost", "")
		return text == "0.002250\n"
	})
	_, text = ask("GET", "/customers/ben/cost", "")
	require.Equal(t, "0.000000\n", text)

	_, errs, code := w.Starter("show", id)
	require.NotZero(t, code)
	require.Contains(t, errs, "TEMPORAL_CODEC_ENDPOINT")
	t.Setenv("TEMPORAL_CODEC_ENDPOINT", "http://"+address+"/codec")
	require.Contains(t, w.Must("show", id), answer)

	options, err := dial.ClientOptions(w.Address, "")
	require.NoError(t, err)
	temporal, err := client.Dial(options)
	require.NoError(t, err)
	defer temporal.Close()
	run, err := temporal.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: t.Name(), TaskQueue: "support"}, "Triage", []string{"It is broken!"})
	require.NoError(t, err)
	var verdicts []json.RawMessage
	require.NoError(t, run.Get(t.Context(), &verdicts))
	require.Len(t, verdicts, 1)
	require.JSONEq(t, verdict, string(verdicts[0]))
	w.Eventually("the interceptor has logged the calls", func() bool { return strings.Contains(p.Output(), "type=CallTool agent="+id) })
	w.NothingTwice()
	w.Must("cancel", id) // without its codec, nobody could read it in the inbox of another test
}

// The example program ask gets the answer of an agent as a typed value, and prints it.
func TestExampleAskDecodesTheAnswer(t *testing.T) {
	w := newExample(t, "gotool", world.Script(llmtest.Call(llmtest.ToolCall("1", "price", `{"name":"cherry"}`)), llmtest.Say(`{"euros":9}`)))
	serving(w, "gotool")
	out, err := w.Command("answer").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, "9\n", string(out))
}

func TestExampleMCPAgentUsesTheToolsOfItsServer(t *testing.T) {
	w := newExample(t, "mcpagent", world.Script(
		llmtest.Call(llmtest.ToolCall("1", "read", `{}`)),
		llmtest.Call(llmtest.ToolCall("2", "add", `{"text":"the rent is due"}`)),
		llmtest.Call(llmtest.ToolCall("3", "read", `{}`)),
		llmtest.Say("Noted, it is your only one."),
	))
	notes := filepath.Join(t.TempDir(), "notes.txt")
	configure(w, "examples/mcpagent/agents.yaml", "bin/notes", world.Binary("notes"), "notes.txt", notes)
	w.Worker()
	w.Must("run", "--id", t.Name(), "Note that the rent is due")
	lines := w.Show(t.Name()).Lines()
	require.Contains(t, lines, "tool: There are no notes yet.")
	require.Contains(t, lines, "tool: the rent is due\n")
	kept, err := os.ReadFile(notes)
	require.NoError(t, err)
	require.Equal(t, "the rent is due\n", string(kept), "added once")
}

func TestExampleTeamPutsTheAnswersOfTwoAgentsTogether(t *testing.T) {
	w := newExample(t, "team", func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		switch req.Tools[0].Name {
		case "calculator":
			return world.Script(llmtest.Call(llmtest.ToolCall("1", "calculator", `{"expression":"17*23"}`)), llmtest.Say("It is 391."))(ctx, req)
		case "list_files":
			return world.Script(llmtest.Call(llmtest.ToolCall("1", "list_files", `{"path":"llm"}`)), llmtest.Say("Models."))(ctx, req)
		}
		if world.Asked(req) == 0 {
			return llmtest.Call(
				llmtest.ToolCall("1", "reader", `{"task":"What is in llm/?"}`), llmtest.ToolCall("2", "counter", `{"task":"17*23"}`)), nil
		}
		n := len(req.Messages)
		return llmtest.Say(req.Messages[n-2].Content + " " + req.Messages[n-1].Content), nil
	})
	configure(w, "examples/team/agents.yaml", "../..", world.Path())
	w.Worker()
	out := w.Must("run", "-a", "editor", "--id", t.Name(), "What is in llm/, and what is 17 * 23?")
	require.Contains(t, out, "Models. It is 391.\n")
	s := w.Show(t.Name())
	require.Len(t, s.Children, 2)
	for _, child := range s.Children {
		require.Equal(t, "completed", child.Status)
	}
}

// The program of the example approvals answers the question, approves the call and gives the result from outside, each when it waits.
func TestExampleApprovalsSettlesWhatWaits(t *testing.T) {
	w := newExample(t, "approvals", world.Script(
		llmtest.Call(llmtest.ToolCall("1", "ask_user", `{"question":"Where?"}`)),
		llmtest.Call(llmtest.ToolCall("2", "write_file", `{"path":"haiku.txt","content":"five"}`), llmtest.ToolCall("3", "write_file", `{"path":"b","content":"x"}`)),
		llmtest.Call(llmtest.ToolCall("4", "publish", `{"path":"haiku.txt"}`)),
		llmtest.Say("It is published."),
	))
	folder := t.TempDir()
	configure(w, "examples/approvals/agents.yaml", "../..", folder)
	w.Worker()
	w.Must("run", "--detach", "-a", "writer", "--id", t.Name(), "Write a haiku, and publish it")
	settle := func(waits int, typed string) string {
		w.Eventually("the calls wait", func() bool {
			calls, err := w.Client.Pending(t.Context(), t.Name())
			require.NoError(t, err)
			return len(calls) == waits
		})
		cmd := w.Command("approvals")
		cmd.Stdin = strings.NewReader(typed)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	require.Contains(t, settle(1, "in haiku.txt\n"), `ask_user "{\"question\":\"Where?\"}" waits for answer: `)
	require.NoFileExists(t, filepath.Join(folder, "haiku.txt"))
	require.Contains(t, settle(2, "y\nwhat for?\n"), `write_file "{\"path\":\"haiku.txt\",\"content\":\"five\"}" waits for approval: `)
	require.Contains(t, settle(1, "it is online\n"), `publish "{\"path\":\"haiku.txt\"}" waits for result: `)
	w.Finished(t.Name(), "It is published.")
	lines := w.Show(t.Name()).Lines()
	require.Equal(t, []string{"tool: in haiku.txt", "tool: denied: a person refused this call: what for?", "tool: it is online"}, []string{lines[2], lines[5], lines[7]})
	written, err := os.ReadFile(filepath.Join(folder, "haiku.txt"))
	require.NoError(t, err)
	require.Equal(t, "five", string(written))
	require.NoFileExists(t, filepath.Join(folder, "b"))
}

// The host of the example background answers while the reader works, and passes on the answer of the reader when it comes.
func TestExampleBackgroundGoesOnWhileTheReaderWorks(t *testing.T) {
	g := world.NewGate()
	w := newExample(t, "background", func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		switch last := req.Messages[len(req.Messages)-1]; {
		case req.Tools[0].Name == "list_files":
			return llmtest.Say("Models."), g.Pass(ctx)
		case last.Content == "What is in llm/?":
			return llmtest.Call(llmtest.ToolCall("1", "reader", `{"task":"What is in llm/?"}`)), nil
		case last.Content == "What runs?":
			return llmtest.Call(llmtest.ToolCall("2", "agents", `{}`)), nil
		case strings.Contains(last.Content, "has its result now"):
			return llmtest.Say("The reader says: Models."), nil
		case strings.HasPrefix(last.Content, "started: "):
			return llmtest.Say("The reader looks."), nil
		default:
			return llmtest.Say(last.Content), nil
		}
	})
	configure(w, "examples/background/agents.yaml", "../..", world.Path())
	w.Worker()
	require.Contains(t, w.Must("run", "-a", "host", "--id", t.Name(), "--chat", "What is in llm/?"), "The reader looks.")
	g.Wait(t)
	require.Contains(t, w.Must("send", t.Name(), "What runs?"), "reader: What is in llm/?")
	close(g.Open)
	lines := w.Transcript(t.Name(), 10)
	require.Equal(t, "assistant: The reader says: Models.", lines[9])
	require.Len(t, w.Show(t.Name()).Children, 1)
}

// The workflow of the example childworkflow runs each of its agents once. A second start or a reset of the workflow
// makes no further model request.
func TestExampleChildWorkflowAsksEachAgentOnce(t *testing.T) {
	w := newExample(t, "childworkflow", func(_ context.Context, req llm.Request) (llm.Reply, error) {
		return llmtest.Say("about " + req.Messages[len(req.Messages)-1].Content), nil
	})
	run := func() string {
		cmd := w.Command("childworkflow", "idempotency keys", "recall")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	const want = "idempotency keys: about idempotency keys\nrecall: about recall\n"
	require.Contains(t, run(), want)
	require.Equal(t, 2, len(w.Model.Requests()))
	require.Contains(t, run(), want)

	found, err := world.Temporal.DescribeWorkflowExecution(t.Context(), "glossary", "")
	require.NoError(t, err)
	_, err = world.Temporal.WorkflowService().ResetWorkflowExecution(t.Context(), &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: world.Server.Namespace(), RequestId: t.Name(), Reason: "test", WorkflowTaskFinishEventId: 3,
		WorkflowExecution: &common.WorkflowExecution{WorkflowId: "glossary", RunId: found.GetWorkflowExecutionInfo().GetExecution().GetRunId()},
	})
	require.NoError(t, err)
	require.Contains(t, run(), want)
	require.Equal(t, 2, len(w.Model.Requests()))
	found, err = world.Temporal.DescribeWorkflowExecution(t.Context(), "glossary", "")
	require.NoError(t, err)
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, found.GetWorkflowExecutionInfo().GetStatus())
}

func TestExampleScheduleStartsAnAgent(t *testing.T) {
	w := newExample(t, "agents", world.Script(llmtest.Say("None.")))
	configure(w, "examples/agents.yaml", "files_root: ..", "files_root: .")
	w.Worker()
	cmd := w.Command("schedule", "--now")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, "The schedule daily-report starts the agent assistant every day at 07:00 UTC.\n", string(out))
	t.Cleanup(func() {
		_ = world.Temporal.ScheduleClient().GetHandle(context.Background(), "daily-report").Delete(context.Background())
	})

	var started []string
	w.Eventually("the schedule has started the agent", func() bool {
		started = nil
		list, err := world.Temporal.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{
			Query: "TemporalScheduledById = 'daily-report'",
		})
		require.NoError(t, err)
		for _, e := range list.GetExecutions() {
			started = append(started, e.GetExecution().GetWorkflowId())
		}
		return len(started) > 0
	})
	require.Len(t, started, 1)
	w.Finished(started[0], "None.")
	require.Equal(t, "assistant", w.Show(started[0]).Agent)

	described, err := world.Temporal.ScheduleClient().GetHandle(t.Context(), "daily-report").Describe(t.Context())
	require.NoError(t, err)
	require.Equal(t, 7, described.Info.NextActionTimes[0].UTC().Hour())
	require.Equal(t, enumspb.SCHEDULE_OVERLAP_POLICY_SKIP, described.Schedule.Policy.Overlap)
	again, err := w.Command("schedule").CombinedOutput()
	require.NoError(t, err, "%s", again)
	require.Contains(t, string(again), "is there already")
}
