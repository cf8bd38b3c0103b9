// Package compose_test runs docker-compose.yml with a container engine. `make compose-test` runs it.
package compose_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// project is not the name in docker-compose.yml, so that the test leaves the data of one's own `docker compose up` alone.
const project = "reagent-compose-test"

// engine runs Compose commands for docker-compose.yml, and asks the container engine for what Compose does not tell.
type engine struct {
	t       *testing.T
	command []string
	socket  string
	env     []string
}

func (e *engine) compose(args ...string) *exec.Cmd {
	all := append(append([]string{}, e.command[1:]...), "-p", project, "-f", "../../docker-compose.yml")
	cmd := exec.Command(e.command[0], append(all, args...)...)
	cmd.Env = append(os.Environ(), e.env...)
	return cmd
}

// run runs a Compose command that must succeed, and returns its standard output.
func (e *engine) run(args ...string) string {
	e.t.Helper()
	cmd := e.compose(args...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		logs, _ := e.compose("logs", "--no-color", "--tail=30").CombinedOutput()
		e.t.Fatalf("compose %s: %v\n%s%s\nlogs:\n%s", strings.Join(args, " "), err, out, errs.String(), logs)
	}
	return string(out)
}

// starter runs a command of starter as docs/start.md does. The server is running already, and --no-deps leaves it as it is. Without the flag,
// Compose would replace its container each time, because Podman reports the name of a network and Compose compares it with an ID.
func (e *engine) starter(args ...string) string {
	e.t.Helper()
	return e.run(append([]string{"run", "--rm", "-T", "--no-deps", "starter"}, args...)...)
}

// get asks the engine's API, which Docker and Podman have in common.
func (e *engine) get(path string, into any) {
	e.t.Helper()
	client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", e.socket)
	}}}
	defer client.CloseIdleConnections()
	resp, err := client.Get("http://engine" + path)
	require.NoError(e.t, err)
	defer resp.Body.Close()
	require.Equal(e.t, http.StatusOK, resp.StatusCode, path)
	require.NoError(e.t, json.NewDecoder(resp.Body).Decode(into))
}

// gateway returns the address of this machine in the network of the containers.
func (e *engine) gateway() string {
	var network struct {
		IPAM struct{ Config []struct{ Gateway string } }
	}
	e.get("/networks/"+project+"_default", &network)
	require.NotEmpty(e.t, network.IPAM.Config)
	return network.IPAM.Config[0].Gateway
}

type process struct {
	State struct {
		Pid       int
		StartedAt string
		Health    struct{ Status string }
	}
}

func (e *engine) worker() (p process) {
	e.get("/containers/"+project+"-worker-1/json", &p)
	return p
}

// model answers with the number of the answer. Before the first one, it calls a tool. It never answers the first request with the message
// "hold", so that the worker cannot report an answer before it is dead.
type model struct {
	held chan string // gets the key of that request
	once atomic.Bool
}

func (m *model) reply(ctx context.Context, req llm.Request) (llm.Reply, error) {
	answers := 0
	for _, message := range req.Messages {
		if message.Role == llm.Assistant {
			answers++
		}
	}
	last := req.Messages[len(req.Messages)-1]
	if answers == 0 {
		return llmtest.Call(llmtest.ToolCall("call_1", "list_files", `{"path":"docs"}`)), nil
	}
	if last.Content == "hold" && m.once.CompareAndSwap(false, true) {
		m.held <- req.Key
		<-ctx.Done()
	}
	return llmtest.Say(fmt.Sprint("answer ", answers)), nil
}

// docker-compose.yml works: the images are built from the Dockerfile, an agent uses its tools, a killed worker is replaced and its call made
// again with the same key, and after all containers were removed and made again, the agent's past is there and its chat goes on.
func TestComposeFileRuns(t *testing.T) {
	command := strings.Fields(os.Getenv("REAGENT_COMPOSE"))
	if len(command) == 0 {
		t.Skip("needs a container engine: run `make compose-test`")
	}
	e := &engine{t: t, command: command, socket: os.Getenv("REAGENT_ENGINE")}
	down := func() {
		out, err := e.compose("down", "--volumes", "--remove-orphans", "--timeout=10").CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	down() // what a test that was killed has left
	t.Cleanup(down)

	e.run("up", "--no-build", "--detach", "--wait", "temporal")
	m := &model{held: make(chan string, 1)}
	endpoint := &standin.Endpoint{Client: llmtest.Func(m.reply)}
	listener, err := net.Listen("tcp", net.JoinHostPort(e.gateway(), "0"))
	require.NoError(t, err)
	server := &http.Server{Handler: endpoint, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	e.env = []string{"OPENAI_API_KEY=scripted", "OPENAI_BASE_URL=http://" + listener.Addr().String() + "/v1"}

	e.run("up", "--no-build", "--detach", "--wait")
	t.Log("everything is up and healthy")
	require.Contains(t, e.starter("run", "-a", "assistant", "--id", "talk", "--chat", "What is in docs/?"), "answer 1")
	requests := endpoint.Requests()
	require.Contains(t, string(requests[len(requests)-1].Body), "operations.md", "the tool has listed the mounted folder")

	before := e.worker()
	require.Equal(t, "healthy", before.State.Health.Status, "worker --ready says that the worker is ready")
	e.starter("send", "--detach", "talk", "hold")
	key := <-m.held
	require.NotEmpty(t, key)
	e.kill(before)
	require.Eventually(t, func() bool { return strings.Contains(e.starter("show", "talk"), "answer 2") }, 2*time.Minute, time.Second)
	require.NotEqual(t, before.State.StartedAt, e.worker().State.StartedAt, "the engine has started the worker again")
	asked := 0
	for _, r := range endpoint.Requests() {
		if r.Key == key {
			asked++
		}
	}
	require.Equal(t, 2, asked, "the call was made again with its key")
	t.Log("a killed worker was started again and went on")

	e.run("down")
	e.run("up", "--no-build", "--detach", "--wait")
	past := e.starter("show", "talk")
	for _, text := range []string{"What is in docs/?", "answer 1", "hold", "answer 2"} {
		require.Contains(t, past, text)
	}
	require.Contains(t, e.starter("send", "talk", "And now?"), "answer 3")
	t.Log("after down and up, the chat goes on")
}

// kill sends SIGKILL to the first process of the container, as a lack of memory would. By `docker kill` the engine would know that a person
// has stopped it, and not start it again.
func (e *engine) kill(p process) {
	e.t.Helper()
	require.NotZero(e.t, p.State.Pid)
	err := syscall.Kill(p.State.Pid, syscall.SIGKILL)
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ESRCH) { // the engine is another user's, or in a virtual machine
		e.run("kill", "--signal=SIGKILL", "worker")
		e.run("start", "worker")
		return
	}
	require.NoError(e.t, err)
}
