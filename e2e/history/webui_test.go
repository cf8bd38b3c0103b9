package history_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	sdk "go.temporal.io/sdk/client"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/app/devserver"
	"github.com/reagent-dev/reagent/internal/testkit/webui"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// screenshotEnv is the name of an environment variable with the path of a file. If the variable is set,
// [TestWebUITellsWhatAnAgentDid] writes the README's picture to this file:
//
//	REAGENT_SCREENSHOT=$PWD/docs/images/webui.png go test ./e2e/history -run WebUI -count=1
const screenshotEnv = "REAGENT_SCREENSHOT"

const (
	webUITask  = "How does Reagent keep a tool from running twice?"
	webUIHint  = "Which errors end the retries of a tool? See workflows/operations.go."
	webUIFound = "A lost heartbeat and a timed-out attempt, unless the tool may be repeated."
	webUISaid  = "A tool that changes something is not retried: the call gets the result that its outcome is unknown."
)

// Temporal's Web UI shows what an agent did, and no program of this project is needed. It shows the agent's task, its
// model and tool calls with their arguments, its sub-agents, its transcript and its answer.
func TestWebUITellsWhatAnAgentDid(t *testing.T) {
	p := newPage(t, world.Temporal, world.Server)
	w := world.New(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		if len(req.Tools) == 1 { // the sub-agent
			return world.Script(
				llmtest.Call(llmtest.ToolCall("1", "read_file", `{"path":"workflows/operations.go"}`)),
				llmtest.Say(webUIFound),
			)(ctx, req)
		}
		return world.Script(
			llmtest.Call(
				llmtest.ToolCall("1", "search_files", `{"query":"AtMostOnce","path":"tool","glob":"*.go"}`),
				llmtest.ToolCall("2", "researcher", fmt.Sprintf(`{"task":%q}`, webUIHint)),
			),
			llmtest.Call(llmtest.ToolCall("3", "read_file", `{"path":"activities/toolcall.go"}`)),
			llmtest.Say(webUISaid),
		)(ctx, req)
	}, nil, "")
	w.Queue = "agents" // the picture shows it
	w.WriteConfig(fmt.Sprintf(`task_queue: %s
models:
  main: {model: gpt-4o-mini, base_url: %q}
builtin: {files_root: %q}
agents:
  assistant:
    model: main
    tools: [search_files, read_file]
    agents: [researcher]
  researcher: {model: main, tools: [read_file], description: answers one question about one file}
`, w.Queue, w.Model.URL, world.Path()))
	w.Worker()
	w.Must("run", "-a", "assistant", "--id", "how-it-works", webUITask)
	child := w.Show("how-it-works").Children[0].ID

	p.visit("how-it-works", "history")
	p.reads("the timeline",
		"CallModel • turn 1 · gpt-4o-mini · 1 message",
		`CallTool • search_files {"query":"AtMostOnce"`,
		"researcher · "+webUIHint[:40],
		`CallTool • read_file {"path":"activities/toolcall.go"}`,
		webUITask, webUISaid, // input and result
	)
	p.picture()

	p.visit("how-it-works", "user-metadata")
	p.reads("summary, details and current details",
		"assistant · "+webUITask,
		"Agent assistant · mode task · depth 0 · what people can do",
		"completed · turn 1 · 3 model calls · 3 tool calls",
		child+": done",
		"package activities import", // what a tool found
		webUIFound, webUISaid,
	)

	p.visit("how-it-works", "relationships")
	p.reads("the tree of agents", child)

	p.visit(child, "user-metadata")
	p.reads("the sub-agent's own story", "researcher · "+webUIHint[:40], "depth 1", `read_file {"path":"workflows/operations.go"}`, webUIFound)
}

// The Web UI shows who must act, with the commands: for a call that needs an approval, for a question, for an interrupted agent, and
// for an agent with a sub-agent in the background. The timeline shows what a call waits for, with and without a limit.
func TestWebUITellsWhoMustAct(t *testing.T) {
	p := newPage(t, world.Temporal, world.Server)
	tools := world.NewToolServer(t)
	tools.Add("pay", nil, world.Echo)
	model := world.NewGate()
	w := world.New(t, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		switch last := req.Messages[len(req.Messages)-1].Content; last {
		case "Pay the invoice.":
			return llmtest.Call(llmtest.ToolCall("1", "pay", `{"euros":10}`)), nil
		case "Which invoice?":
			return llmtest.Call(llmtest.ToolCall("1", "ask_user", `{"question":"Number 7 or 8?"}`)), nil
		case "Count the invoices.":
			return llmtest.Call(llmtest.ToolCall("1", "clerk", `{"task":"Count slowly."}`)), nil
		case "Count slowly.", "Take your time.":
			<-ctx.Done()
			return llm.Reply{}, ctx.Err()
		}
		return llmtest.Say("The clerk counts."), model.Pass(ctx)
	}, tools, "    approval: {default: never, far.pay: always}\n    approval_timeout: 1h\n    tools: [far.*, ask_user]\n    agents: [clerk]\n    background: [clerk]\n  clerk: {model: main}\n")
	close(model.Open)
	w.Worker()
	start := func(id, task string) { w.Must("run", "--detach", "--chat", "-a", "x", "--id", id, task) }
	waits := func(id, status string) {
		w.Eventually(id+" is "+status, func() bool {
			look, err := w.Client.Describe(t.Context(), id)
			return err == nil && string(look.Status) == status
		})
		p.visit(id, "user-metadata")
	}
	start("who-decides", "Pay the invoice.")
	waits("who-decides", "waiting")
	p.reads("who has to decide", "These calls wait for a person:", `pay {"euros":10}`, "starter approve who-decides", "starter deny who-decides")
	p.visit("who-decides", "history")
	// The timeline has one line for each bar and mark. The list of events below has other texts between these.
	p.reads("the wait with a limit in the timeline",
		`time limit · waits for approval · pay {"euros":10} waits for approval · pay {"euros":10} CallModel • turn 1`)
	start("who-answers", "Which invoice?")
	waits("who-answers", "waiting")
	p.reads("who has to answer", "Number 7 or 8?", "starter answer who-answers --call ")
	p.visit("who-answers", "history")
	p.reads("the question in the timeline", `waits for an answer · ask_user Number 7 or 8? CallModel • turn 1`)
	require.NotContains(t, p.text, "time limit")
	start("who-interrupts", "Take your time.")
	w.Eventually("the agent is interrupted", func() bool { _, _, code := w.Starter("interrupt", "who-interrupts"); return code == 0 })
	waits("who-interrupts", "held")
	p.reads("who lets it go on", "A person interrupted the turn. It goes on with the next message", "starter send who-interrupts")
	start("who-counts", "Count the invoices.")
	waits("who-counts", "waiting")
	p.reads("what runs in the background", "started: the agent works in the background", "who-counts/clerk")
}

// uiPage is a page of the Web UI of a server in a browser. The field text is the text of the page when reads last read it.
type uiPage struct {
	t        *testing.T
	browser  *webui.Browser
	temporal sdk.Client
	server   *devserver.Server
	text     string
}

// newPage opens a browser. Where there is none, it skips the test.
func newPage(t *testing.T, temporal sdk.Client, server *devserver.Server) *uiPage {
	browser, err := webui.Open(t.Context())
	if errors.Is(err, webui.ErrNoBrowser) {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(browser.Close)
	return &uiPage{t: t, browser: browser, temporal: temporal, server: server}
}

func (p *uiPage) visit(id, tab string) {
	found, err := p.temporal.DescribeWorkflowExecution(p.t.Context(), id, "")
	require.NoError(p.t, err)
	run := found.GetWorkflowExecutionInfo().GetExecution().GetRunId()
	require.NoError(p.t, p.browser.Visit(fmt.Sprintf("%s/namespaces/default/workflows/%s/%s/%s",
		p.server.UIURL(), url.PathEscape(id), run, tab)))
}

// reads waits until the page contains all texts. Line breaks of the page make no difference. If a text is missing, the
// test fails, and the parameter what begins the error.
func (p *uiPage) reads(what string, texts ...string) {
	var missing []string
	deadline, cancel := context.WithTimeout(p.t.Context(), world.Patience)
	defer cancel()
	for deadline.Err() == nil {
		text, err := p.browser.Text()
		require.NoError(p.t, err)
		p.text, missing = strings.Join(strings.Fields(text), " "), nil
		for _, want := range texts {
			if !strings.Contains(p.text, want) {
				missing = append(missing, want)
			}
		}
		if len(missing) == 0 {
			return
		}
	}
	require.FailNow(p.t, what+" cannot be read on the page", "missing: %q\npage: %s", missing, p.text)
}

// picture saves the page as the README's picture, with the oldest event on top. Without the environment variable
// [screenshotEnv], it does nothing.
func (p *uiPage) picture() {
	file := os.Getenv(screenshotEnv)
	if file == "" {
		return
	}
	clicked, err := p.browser.Click("Descending")
	require.NoError(p.t, err)
	require.True(p.t, clicked)
	p.reads("the other order", "Ascending")
	require.NoError(p.t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(p.t, p.browser.Screenshot(file))
}
