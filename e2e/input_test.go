package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"

	reagent "github.com/reagent-dev/reagent/client"
)

// What people get wrong, and what they are told.

func TestWorkerSaysWhatIsWrongWithItsConfiguration(t *testing.T) {
	tools := newToolServer(t)
	tools.add("read", readOnly, echo)
	const models = "models:\n  main: {model: m, base_url: \"http://127.0.0.1:1/v1\"}\n"
	for name, c := range map[string]struct{ yaml, env, want string }{
		"unknown tool":           {models + "agents:\n  x: {model: main, tools: [calculater]}\n", "", "calculater"},
		"unknown model":          {"models:\n  main: {model: m, base_url: \"http://x/v1\"}\nagents:\n  x: {model: big}\n", "", "agents.x.model"},
		"unknown key":            {models + "agents:\n  x: {model: main, tool: [calculator]}\n", "", "agents.yaml:4"},
		"no API key":             {"models:\n  main: {model: m, api_key_env: NO_SUCH_KEY}\nagents:\n  x: {model: main}\n", "", "NO_SUCH_KEY"},
		"MCP command not found":  {models + "mcp_servers:\n  files: {command: [no-such-program]}\nagents:\n  x: {model: main, tools: [files.*]}\n", "", "no-such-program"},
		"MCP server not there":   {models + "mcp_servers:\n  files: {url: \"http://127.0.0.1:1/mcp\"}\nagents:\n  x: {model: main, tools: [files.*]}\n", "", "files"},
		"tool not on the server": {models + "mcp_servers:\n  far: {url: \"" + tools.URL + "\"}\nagents:\n  x: {model: main, tools: [far.write]}\n", "", "far.write"},
		"two tools of one name":  {models + "mcp_servers:\n  far: {url: \"" + tools.URL + "\"}\n  near: {url: \"" + tools.URL + "\"}\nagents:\n  x: {model: main, tools: [far.*, near.*]}\n", "", "prefix"},
		"no Temporal":            {models + "agents:\n  x: {model: main}\n", "127.0.0.1:1", "no Temporal at 127.0.0.1:1"},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{t: t}
			w.write(c.yaml)
			cmd := w.command("worker", "--config", w.config)
			if c.env != "" {
				cmd.Env = append(cmd.Env, "TEMPORAL_ADDRESS="+c.env)
			}
			out, err := cmd.CombinedOutput()
			require.Error(t, err, "the worker ended")
			require.Equal(t, 1, cmd.ProcessState.ExitCode())
			require.Contains(t, string(out), c.want)
			require.NotContains(t, string(out), "panic")
		})
	}
}

func TestStarterSaysWhatIsWrong(t *testing.T) {
	w := newWorld(t, script(llmtest.Say("hello")), nil, "")
	w.worker()
	big := strings.Repeat("x", 10_000_000)
	for name, c := range map[string]struct {
		stdin string
		args  []string
		code  int
		want  string
	}{
		"no Temporal":         {"", []string{"list", "--address", "127.0.0.1:1"}, 5, "no Temporal at 127.0.0.1:1"},
		"no configuration":    {"", []string{"run", "--config", "/nowhere/agents.yaml", "hi"}, 2, "--config"},
		"unknown agent":       {"", []string{"run", "-a", "nobody", "hi"}, 2, `no agent "nobody"`},
		"no such agent":       {"", []string{"show", "no-such-agent"}, 4, `there is no agent with ID "no-such-agent"`},
		"send to none":        {"", []string{"send", "no-such-agent", "hi"}, 4, `there is no agent with ID "no-such-agent"`},
		"nothing to say":      {"", []string{"run", " "}, 2, "is empty"},
		"a message too large": {big, []string{"run", "-"}, 2, "the limit is 1 MiB"},
		"an ID with a space":  {"", []string{"run", "--id", "a b", "hi"}, 2, "white space"},
		"an unknown command":  {"", []string{"shwo"}, 2, "show"},
	} {
		t.Run(name, func(t *testing.T) {
			out, errs, code := w.starterWith(c.stdin, c.args...)
			require.Equal(t, c.code, code, out+errs)
			require.Contains(t, errs, c.want)
			require.Less(t, len(errs), 2000)
		})
	}
}

// A name that no worker knows is told at once, and what to do about it: most often it is mistyped.
func TestUnknownAgentIsTold(t *testing.T) {
	w := newWorld(t, script(llmtest.Say("hello")), nil, "")
	w.worker()
	other := &world{t: t}
	other.write("task_queue: " + w.queue + "\nmodels:\n  main: {model: m, base_url: \"http://x/v1\"}\nagents:\n  y: {model: main}\n")
	run := other.start("starter", "run", "--id", t.Name(), "hi")
	w.eventually("the starter says so", func() bool {
		return strings.Contains(run.output(), `there is no agent "y" on this worker; it serves x`)
	})
	require.Contains(t, run.output(), "starter cancel "+t.Name())
	w.eventually("show says so", func() bool { return strings.Contains(w.must("show", t.Name()), `there is no agent "y"`) })
	w.must("cancel", t.Name())
	w.eventually("it ends", run.ended)
	require.Equal(t, 1, strings.Count(run.output(), "there is no agent"), "once: "+run.output())
	require.Equal(t, "cancelled", w.show(t.Name()).Status)
}

// A new agent is rolled out worker by worker: what a worker without it takes, the other one gets.
func TestRolloutWorkerByWorker(t *testing.T) {
	t.Parallel()
	w := newWorld(t, script(llmtest.Say("hello")), nil, "")
	old := *w
	old.write(fmt.Sprintf("task_queue: %s\nmodels:\n  main: {model: m, base_url: %q}\nagents:\n  before: {model: main}\n", w.queue, w.model.URL))
	old.worker()
	ids := make([]string, 20)
	start := func(i int) {
		ids[i] = fmt.Sprint(t.Name(), i)
		_, err := w.client.Start(t.Context(), reagent.StartOptions{ID: ids[i], Agent: "x", Message: "hi"})
		require.NoError(t, err)
	}
	// The first ones find only the worker without the agent.
	for i := range 5 {
		start(i)
	}
	w.eventually("the definition is asked for in vain", func() bool {
		s, err := w.client.Show(t.Context(), ids[4])
		return err == nil && s.Retry != nil
	})
	w.worker()
	for i := 5; i < len(ids); i++ {
		start(i)
	}
	for _, id := range ids {
		w.finished(id, "hello")
	}
	w.once()
}

// Two workers that define an agent differently say so: which definition an agent gets is chance.
func TestWorkersWithOtherDefinitionsAreTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t, script(llmtest.Say("hello")), nil, "")
	w.worker()
	w.eventually("the worker polls", func() bool {
		found, err := w.temporal.DescribeTaskQueue(t.Context(), w.queue, enums.TASK_QUEUE_TYPE_WORKFLOW)
		return err == nil && len(found.GetPollers()) > 0
	})
	const warning = "defines its agents differently"
	require.NotContains(t, w.worker().output(), warning)
	other := *w
	other.write(fmt.Sprintf("task_queue: %s\nmodels:\n  main: {model: m, base_url: %q}\nagents:\n  x: {model: main, instructions: Be brief.}\n", w.queue, w.model.URL))
	require.Contains(t, other.worker().output(), warning)
}

func TestNobodyServesTheQueue(t *testing.T) {
	w := newWorld(t, script(llmtest.Say("hello")), nil, "")
	run := w.start("starter", "run", "--id", t.Name(), "hi")
	w.eventually("the starter says so", func() bool { return strings.Contains(run.output(), "No worker has answered yet") })
	w.worker()
	w.eventually("and goes on when one is up", run.ended)
	require.Contains(t, run.output(), "hello")
	require.Equal(t, 0, run.cmd.ProcessState.ExitCode(), run.output())
}

// An endpoint that refuses holds a chat, with a message that helps and no key in it;
// when the cause is gone the next message goes on from there.
func TestWrongKeyHoldsTheChat(t *testing.T) {
	const secret = "sk-test-0123456789abcdef"
	var right atomic.Bool
	far := llmtest.Handler(llmtest.Func(script(llmtest.Say("hello"), llmtest.Say("yes"))))
	endpoint := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if !right.Load() {
			rw.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(rw, `{"error":{"message":"Incorrect API key provided: %s","code":"invalid_api_key"}}`, secret)
			return
		}
		far.ServeHTTP(rw, r)
	}))
	t.Cleanup(endpoint.Close)
	t.Setenv("E2E_KEY", secret)
	w := newWorld(t, script(), nil, "")
	w.write(fmt.Sprintf("task_queue: %s\nmodels:\n  main: {model: m, base_url: \"%s/v1\", api_key_env: E2E_KEY}\nagents:\n  x: {model: main}\n", w.queue, endpoint.URL))
	worker := w.worker()
	out, errs, code := w.starter("run", "--chat", "--id", t.Name(), "hi")
	require.Equal(t, 3, code)
	require.Contains(t, errs, "is held")
	require.Contains(t, errs, "API key")
	s := w.show(t.Name())
	require.Equal(t, "held", s.Status)
	right.Store(true)
	require.Equal(t, "hello\n", w.must("send", t.Name(), "better now?"))
	require.NotContains(t, out+errs+s.Error+worker.output(), secret)
	history := temporal.GetWorkflowHistory(t.Context(), t.Name(), "", false, 0)
	for history.HasNext() {
		event, err := history.Next()
		require.NoError(t, err)
		require.NotContains(t, event.String(), secret)
	}
}

// A web page in place of a reply fails at once, and is called what it is.
func TestModelThatAnswersHTML(t *testing.T) {
	asked := 0
	endpoint := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		asked++
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprint(rw, "<html><body>Sign in</body></html>")
	}))
	t.Cleanup(endpoint.Close)
	w := newWorld(t, script(), nil, "")
	w.write(fmt.Sprintf("task_queue: %s\nmodels:\n  main: {model: m, base_url: \"%s/v1\"}\nagents:\n  x: {model: main}\n", w.queue, endpoint.URL))
	w.worker()
	_, errs, code := w.starter("run", "--id", t.Name(), "hi")
	require.Equal(t, 3, code)
	require.Contains(t, errs, "HTML")
	require.Contains(t, errs, "base_url")
	require.Equal(t, 1, asked)
}

// A tool result of any size is cut to the agent's limit, head and tail.
func TestHugeToolResultIsCut(t *testing.T) {
	tools := newToolServer(t)
	tools.add("read", readOnly, func(context.Context, effect) (string, error) {
		return "head<" + strings.Repeat("0123456789", 300_000) + ">tail", nil
	})
	w := newWorld(t, script(llmtest.Call(llmtest.ToolCall("1", "read", `{}`)), llmtest.Say("read")), tools,
		"    limits: {tool_result_bytes: 1048576}\n")
	w.worker()
	w.must("run", "--id", t.Name(), "read")
	result := w.show(t.Name()).Messages[2].Content
	require.Less(t, len(result), 1<<20)
	require.True(t, strings.HasPrefix(result, "head<"), result[:20])
	require.True(t, strings.HasSuffix(result, ">tail"))
	require.Contains(t, result, "bytes left out")
}

// A reply that no payload can hold fails the turn and not the workflow.
// A reply that no payload could hold is cut, and says so.
func TestHugeReplyIsCut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		return llmtest.Say(strings.Repeat("x", 3_000_000)), nil
	}, nil, "")
	w.worker()
	w.must("run", "--chat", "--id", t.Name(), "hi")
	s := w.show(t.Name())
	require.Equal(t, "waiting", s.Status)
	require.Less(t, len(s.Messages[1].Content), 1_000_000)
	require.Greater(t, len(s.Messages[1].Content), 500_000)
	require.Equal(t, 1, s.Usage["repaired_replies"])
}

// Arguments that do not fit the schema never reach the tool; the model reads why.
func TestArgumentsAreCheckedAgainstTheSchema(t *testing.T) {
	w := newWorld(t, script(
		llmtest.Call(llmtest.ToolCall("1", "calculator", `{"expr":"1"}`), llmtest.ToolCall("2", "calculator", `{"expression":`), llmtest.ToolCall("3", "fly", `{}`)),
		llmtest.Say("sorry"),
	), nil, "    tools: [calculator]\n")
	w.worker()
	w.must("run", "--id", t.Name(), "hi")
	lines := w.show(t.Name()).lines()
	require.Contains(t, lines[2], "expr")
	require.Contains(t, lines[3], "not a JSON object")
	require.Contains(t, lines[4], `no tool "fly"`)
}
