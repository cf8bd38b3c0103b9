package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// patience is the longest time that a measurement waits for one request to the model.
const patience = time.Minute

// kills measures how long an agent makes no progress after its worker is killed. The measured time begins with the SIGKILL.
// It ends with the next request to the model, which another worker sends.
func (l *lab) kills(ctx context.Context, rounds int) error {
	progressf("SIGKILL of a worker, %d rounds", rounds)
	k, err := newKiller(ctx, l)
	if err != nil {
		return err
	}
	defer k.close()
	var busy, idle []float64
	for round := range rounds {
		for _, during := range []bool{true, false} {
			took, err := k.kill(ctx, fmt.Sprintf("killed-%d-%v", round, during), during)
			if err != nil {
				return err
			}
			if during {
				busy = append(busy, took.Seconds())
			} else {
				idle = append(idle, took.Seconds())
			}
		}
	}
	for name, took := range map[string]float64{"during a model call": median(busy), "between turns": median(idle)} {
		l.report.goal("SIGKILL "+name+" to the next step", fmt.Sprintf("%.2f s", took), took <= 3, "≤ 3 s")
	}
	return nil
}

// killer has what the measurement [lab.kills] needs: a model server in this process, and worker processes that call its
// model.
type killer struct {
	dir    string   // folder of the worker program and its configuration
	env    []string // environment of the worker processes
	model  *llmtest.Server
	agents *client.Client
	asked  chan time.Time // gets the time of each request to the model
	stands atomic.Bool    // if true, the model does not answer the next request
}

func newKiller(ctx context.Context, l *lab) (*killer, error) {
	dir, err := os.MkdirTemp("", "reagent-bench-")
	if err != nil {
		return nil, err
	}
	k := &killer{dir: dir, asked: make(chan time.Time, 100), agents: client.New(l.temporal, "killed")}
	k.model = llmtest.Serve(llmtest.Func(func(ctx context.Context, _ llm.Request) (llm.Reply, error) {
		k.asked <- time.Now()
		if k.stands.CompareAndSwap(true, false) {
			<-ctx.Done() // the worker that sent the request is killed meanwhile
			return llm.Reply{}, ctx.Err()
		}
		return llmtest.Say("done"), nil
	}))
	k.env = append(os.Environ(), "TEMPORAL_ADDRESS="+l.server.Address())
	yaml := fmt.Sprintf("task_queue: killed\nmodels:\n  main: {model: m, base_url: %q}\nagents:\n  x: {model: main}\n", k.model.URL)
	err = os.WriteFile(k.path("agents.yaml"), []byte(yaml), 0o600)
	if err == nil {
		build := exec.CommandContext(ctx, "go", "build", "-o", k.path("worker"), "github.com/reagent-dev/reagent/cmd/worker")
		build.Stderr = os.Stderr
		err = build.Run()
	}
	if err != nil {
		k.close()
		return nil, err
	}
	return k, nil
}

func (k *killer) path(name string) string { return filepath.Join(k.dir, name) }

func (k *killer) close() {
	k.model.Close()
	os.RemoveAll(k.dir)
}

// kill starts an agent with the given ID, kills the worker that runs it, and returns the time until another worker sends the
// next request to the model. If `inModelCall` is true, the worker is killed during a model call. Otherwise, the worker is
// killed while the agent waits for a message, and the agent then gets a message.
func (k *killer) kill(ctx context.Context, id string, inModelCall bool) (time.Duration, error) {
	first, err := k.worker(ctx)
	if err != nil {
		return 0, err
	}
	defer first()
	k.stands.Store(inModelCall)
	if _, err := k.agents.Start(ctx, client.StartOptions{ID: id, Agent: "x", Mode: agent.Chat, Message: "hello"}); err != nil {
		return 0, err
	}
	if _, err := k.next(); err != nil {
		return 0, err
	}
	for !inModelCall { // wait until the agent has answered
		look, err := k.agents.Look(ctx, id)
		if err != nil {
			return 0, err
		}
		if look.Status == client.Waiting {
			break
		}
	}
	// The first worker has the agent in its cache. The second worker is ready before the first is killed, so the measured time
	// does not include the start of a process.
	second, err := k.worker(ctx)
	if err != nil {
		return 0, err
	}
	defer second()
	first()
	killed := time.Now()
	if !inModelCall {
		if _, err := k.agents.Send(ctx, id, client.Message{Text: "and now?"}); err != nil {
			return 0, err
		}
	}
	at, err := k.next()
	return at.Sub(killed), err
}

// next waits for the next request to the model and returns the time of this request. If no request comes within the time
// [patience], next returns an error.
func (k *killer) next() (time.Time, error) {
	select {
	case at := <-k.asked:
		return at, nil
	case <-time.After(patience):
		return time.Time{}, errors.New("the model got no request within " + patience.String())
	}
}

// worker starts a worker process and waits until it is ready. The returned function kills the process. The caller must call
// this function at least once.
func (k *killer) worker(ctx context.Context) (kill func(), err error) {
	cmd := exec.CommandContext(ctx, k.path("worker"), "--config", k.path("agents.yaml"))
	cmd.Env = k.env
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	kill = func() {
		_ = cmd.Process.Kill() // the process may have ended before
		_ = cmd.Wait()
	}
	var said strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.Contains(lines.Text(), "Ready.") {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return kill, nil
		}
		fmt.Fprintln(&said, lines.Text())
	}
	kill()
	return nil, fmt.Errorf("the worker ended:\n%s", said.String())
}
