package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/reagent-dev/reagent/agent"
	reagent "github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/config"
	"github.com/reagent-dev/reagent/internal/devserver"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
	"github.com/reagent-dev/reagent/tool"
)

// patience is how long a test waits for a condition that has to come true.
const patience = 60 * time.Second

// world is one test's surroundings: a model, tools, a configuration, workers.
type world struct {
	t      testing.TB
	queue  string
	config string
	model  *llmtest.Server
	tools  *toolServer
	// registry holds the tools of a worker in the test's own process; nil means none.
	registry *tool.Registry
	client   *reagent.Client
	// openGate lets pass what a test holds, where more than one place may say so.
	openGate func()
	// address and temporal are those of the shared server, but for tests with one of their own.
	address  string
	temporal client.Client
}

// newWorld serves the model and the tools and writes a configuration. Extra is
// added to the agent x, indented as its fields are; with is told of the model before it serves.
func newWorld(
	t testing.TB, model func(context.Context, llm.Request) (llm.Reply, error), tools *toolServer, extra string, with ...func(*llmtest.Endpoint),
) *world {
	far := &llmtest.Endpoint{Client: llmtest.Func(model)}
	for _, f := range with {
		f(far)
	}
	w := &world{t: t, queue: "q-" + strings.ReplaceAll(t.Name(), "/", "-"), model: far.Serve(), tools: tools,
		address: server.Address(), temporal: temporal}
	t.Cleanup(w.model.Close)
	yaml := fmt.Sprintf(`task_queue: %s
models:
  main: {model: scripted, base_url: %q}
`, w.queue, w.model.URL)
	fields := "    model: main\n" + extra
	if tools != nil {
		yaml += fmt.Sprintf("mcp_servers:\n  far: {url: %q}\n", tools.URL)
		if !strings.Contains(extra, "tools:") {
			fields += "    tools: [far.*]\n"
		}
	}
	w.write(yaml + "agents:\n  x:\n" + fields)
	w.client = agentsOf(temporal, w.queue)
	return w
}

// moveTo takes what comes after it to another server than the shared one.
func (w *world) moveTo(own *devserver.Server) {
	options, err := config.ClientOptions(own.Address(), "")
	require.NoError(w.t, err)
	c, err := client.Dial(options)
	require.NoError(w.t, err)
	w.t.Cleanup(c.Close)
	w.address, w.temporal, w.client = own.Address(), c, agentsOf(c, w.queue)
}

func (w *world) write(yaml string) {
	w.config = filepath.Join(w.t.TempDir(), "agents.yaml")
	require.NoError(w.t, os.WriteFile(w.config, []byte(yaml), 0o600))
}

// worker starts a worker process and waits until it serves.
func (w *world) worker(args ...string) *process {
	p := w.start("worker", append([]string{"--config", w.config}, args...)...)
	w.eventually("the worker is ready", func() bool {
		if p.ended() {
			require.FailNow(w.t, "the worker ended", p.output())
		}
		return strings.Contains(p.output(), "Ready.")
	})
	return p
}

// process is a running program of ours.
type process struct {
	printed
	cmd  *exec.Cmd
	done chan struct{}
}

// printed is what a program has printed so far.
type printed struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *world) start(name string, args ...string) *process {
	return w.startCommand(w.command(name, args...))
}

// startProcess starts a command. What the command prints goes to the process, but for an output that the caller has set.
func startProcess(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, done: make(chan struct{})}
	if cmd.Stdout == nil {
		cmd.Stdout = p
	}
	if cmd.Stderr == nil {
		cmd.Stderr = p
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.done)
		_ = cmd.Wait()
	}()
	return p, nil
}

func (w *world) startCommand(cmd *exec.Cmd) *process {
	p, err := startProcess(cmd)
	require.NoError(w.t, err)
	w.t.Cleanup(func() {
		p.kill()
		if w.t.Failed() {
			w.t.Logf("%v:\n%s", cmd.Args, p.output())
		}
	})
	return p
}

func (w *world) command(name string, args ...string) *exec.Cmd {
	return w.commandOf(binary(name), args...)
}

func (w *world) commandOf(path string, args ...string) *exec.Cmd {
	cmd := exec.Command(path, args...)
	address := w.address
	if address == "" {
		address = server.Address()
	}
	cmd.Env = append(os.Environ(), "TEMPORAL_ADDRESS="+address, "REAGENT_CONFIG="+w.config)
	return cmd
}

func (p *printed) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

func (p *printed) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// kill is SIGKILL: nothing is flushed, nobody is told.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

func (p *process) terminate() { _ = p.cmd.Process.Signal(syscall.SIGTERM) }

// wait waits until the process has ended.
func (p *process) wait() { <-p.done }

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// starter runs a starter command to its end.
func (w *world) starter(args ...string) (stdout, stderr string, code int) {
	return w.starterWith("", args...)
}

func (w *world) starterWith(stdin string, args ...string) (stdout, stderr string, code int) {
	cmd := w.command("starter", args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	require.NoError(w.t, cmd.Start())
	timer := time.AfterFunc(2*patience, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	_ = cmd.Wait()
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// must runs a starter command that has to succeed.
func (w *world) must(args ...string) string {
	out, errs, code := w.starter(args...)
	require.Equal(w.t, 0, code, "starter %v: %s%s", args, out, errs)
	return out
}

// shown is what `starter show --json` prints.
type shown struct {
	ID       string `json:"id"`
	Agent    string `json:"agent"`
	Status   string `json:"status"`
	Messages []struct {
		llm.Message
		Key  string    `json:"key"`
		Time time.Time `json:"time"`
	} `json:"messages"`
	Pending []struct {
		Key, Tool, Arguments, State string
		CallID                      string `json:"call_id"`
	} `json:"pending"`
	Children []struct{ ID, Agent, Status string } `json:"children"`
	Usage    counts                               `json:"usage"`
	Earlier  int                                  `json:"earlier_messages"`
	Result   string                               `json:"result"`
	Error    string                               `json:"error"`
}

// counts are the whole numbers of what an agent used.
type counts map[string]int

func (c *counts) UnmarshalJSON(text []byte) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	*c = counts{}
	for name, value := range all {
		if n, err := strconv.Atoi(string(value)); err == nil {
			(*c)[name] = n
		}
	}
	return nil
}

func (w *world) show(id string) shown {
	var s shown
	require.NoError(w.t, json.Unmarshal([]byte(w.must("show", "--json", id)), &s))
	if s.Status != "running" {
		w.compare(id)
	}
	return s
}

// compare holds what the history tells of an agent against what its workflow answers: the two come
// about in different ways and are equal.
func (w *world) compare(id string) {
	read, err := w.client.Read(w.t.Context(), id)
	require.NoError(w.t, err)
	view, err := w.client.State(w.t.Context(), id)
	require.NoError(w.t, err)
	require.Equal(w.t, view.Usage, read.Usage)
	require.True(w.t, strings.HasPrefix(read.Answer, strings.TrimSuffix(view.Answer, "…")), "a query cuts what is long")
	require.Equal(w.t, view.Held, read.Held)
	require.Equal(w.t, view.Turn.Stopped, read.Stopped)
	started := slices.DeleteFunc(view.Children, func(c agent.Child) bool { return !c.Started && !c.Done })
	require.Equal(w.t, len(started), len(read.Children))
	for from := read.First; from < view.Messages; {
		page, err := w.client.Transcript(w.t.Context(), id, from)
		require.NoError(w.t, err)
		require.NotEmpty(w.t, page.Messages)
		require.Equal(w.t, read.First, page.First)
		require.Equal(w.t, page.Messages, read.Messages[from-read.First:from-read.First+len(page.Messages)])
		from += len(page.Messages)
	}
	require.Len(w.t, read.Messages, view.Messages-read.First)
}

// lines is the transcript in short.
func (s shown) lines() []string {
	var lines []string
	for _, m := range s.Messages {
		line := string(m.Role) + ": " + m.Content
		for _, c := range m.ToolCalls {
			line += fmt.Sprintf("[%s %s]", c.Name, c.Arguments)
		}
		lines = append(lines, line)
	}
	return lines
}

// eventually waits for a condition.
func (w *world) eventually(what string, ok func() bool) { eventually(w.t, what, ok) }

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(deadline) {
			require.FailNow(t, "not within "+patience.String(), what)
		}
		<-time.After(10 * time.Millisecond)
	}
}

// requests counts at the model how often each key was asked for.
func (w *world) requests() map[string]int {
	counts := map[string]int{}
	for _, r := range w.model.Requests() {
		counts[r.Key]++
	}
	return counts
}

// historyBytes returns the size and length of an agent's history.
func historySize(t testing.TB, id string) (bytes, events int64) {
	found, err := temporal.DescribeWorkflowExecution(t.Context(), id, "")
	require.NoError(t, err)
	info := found.GetWorkflowExecutionInfo()
	return info.GetHistorySizeBytes(), info.GetHistoryLength()
}
