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
	"slices"
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
// It ends with the next request to the model, which another worker sends. Half of the `times` kills of each kind are slower than the
// first value in the table, and one is as slow as the second.
func (l *lab) kills(ctx context.Context, times int) error {
	if times == 0 {
		return nil
	}
	k, err := newKiller(ctx, l)
	if err != nil {
		return err
	}
	defer k.close()
	goal := func(name string, took []float64) {
		slices.Sort(took)
		middle, worst := took[len(took)/2], took[len(took)-1]
		l.report.goal(name, fmt.Sprintf("%.2f, %.2f s", middle, worst), middle <= 3 && worst <= 5, "≤ 3, ≤ 5 s")
	}
	for _, during := range []bool{true, false} {
		name := "between turns"
		if during {
			name = "during a model call"
		}
		progressf("SIGKILL %s, %d times", name, times)
		var took []float64
		for i := range times {
			phase := betweenHeartbeats * time.Duration(i) / time.Duration(times)
			d, err := k.kill(ctx, fmt.Sprintf("killed-%d-%v", i, during), during, phase)
			if err != nil {
				return err
			}
			progressf("  %.2f s", d.Seconds())
			took = append(took, d.Seconds())
		}
		goal(fmt.Sprintf("SIGKILL %s to the next step, p50 and worst of %d", name, times), took)
	}
	for _, c := range []struct {
		signal        string
		lose          func(*os.Process) error
		agents, times int
	}{{"SIGKILL", (*os.Process).Kill, 200, 3}, {"SIGSTOP", suspend, 1, times}, {"SIGSTOP", suspend, 200, 3}} {
		progressf("%s during the model calls of %d agents, %d times", c.signal, c.agents, c.times)
		var took []float64
		for i := range c.times {
			all, err := k.lose(ctx, fmt.Sprintf("lost-%s-%d-%d", c.signal, c.agents, i), c.agents, c.lose, betweenHeartbeats*time.Duration(i)/time.Duration(c.times))
			if err != nil {
				return err
			}
			took = append(took, all...)
		}
		goal(fmt.Sprintf("%s during the model calls of %d agents to the next step of each, p50 and worst of %d", c.signal, c.agents, len(took)), took)
	}
	return nil
}

// betweenHeartbeats is the time between two heartbeats of a worker. The kills are spread over it.
const betweenHeartbeats = 500 * time.Millisecond

// killer has what the measurement [lab.kills] needs: a model server in this process, and worker processes that call its
// model.
type killer struct {
	dir    string   // folder of the worker program and its configuration
	env    []string // environment of the worker processes
	model  *llmtest.Server
	agents *client.Client
	asked  chan time.Time // gets the time of each request to the model
	stands atomic.Bool    // if true, the model does not answer the next request
	silent atomic.Bool    // if true, the model answers no request
	first  *exec.Cmd      // the worker that runs now
}

func newKiller(ctx context.Context, l *lab) (*killer, error) {
	dir, err := os.MkdirTemp("", "reagent-bench-")
	if err != nil {
		return nil, err
	}
	k := &killer{dir: dir, asked: make(chan time.Time, 1000), agents: client.New(l.temporal, "killed")}
	k.model = llmtest.Serve(llmtest.Func(func(ctx context.Context, _ llm.Request) (llm.Reply, error) {
		k.asked <- time.Now()
		if k.silent.Load() || k.stands.CompareAndSwap(true, false) {
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
	if err == nil {
		k.first, err = k.worker(ctx)
	}
	if err != nil {
		k.close()
		return nil, err
	}
	return k, nil
}

func (k *killer) path(name string) string { return filepath.Join(k.dir, name) }

func (k *killer) close() {
	end(k.first)
	k.model.Close()
	os.RemoveAll(k.dir)
}

// kill starts an agent with the given ID, kills the worker that runs it, and returns the time until another worker sends the next
// request to the model. If `inModelCall` is true, the worker is killed during a model call. If it is false, the worker is killed
// while the agent waits for a message, and the agent then gets a message. The other worker starts before the kill, and the next
// call of kill kills it. Between that start and the kill, kill waits for the time `phase`.
func (k *killer) kill(ctx context.Context, id string, inModelCall bool, phase time.Duration) (time.Duration, error) {
	k.stands.Store(inModelCall)
	if _, err := k.agents.Start(ctx, client.StartOptions{ID: id, Agent: "x", Mode: agent.Chat, Message: "hello"}); err != nil {
		return 0, err
	}
	if _, err := k.next(); err != nil {
		return 0, err
	}
	if !inModelCall {
		if err := k.idle(ctx, id); err != nil {
			return 0, err
		}
	}
	// The first worker has the agent in its cache. The second worker is ready before the first is killed, so the measured time
	// does not include the start of a process.
	second, err := k.worker(ctx)
	if err != nil {
		return 0, err
	}
	time.Sleep(phase)
	first := k.first
	k.first = second
	end(first)
	killed := time.Now()
	if !inModelCall {
		if _, err := k.agents.Send(ctx, id, client.Message{Text: "and now?"}); err != nil {
			return 0, err
		}
	}
	at, err := k.next()
	if err != nil {
		return 0, err
	}
	return at.Sub(killed), k.idle(ctx, id)
}

// idle waits until the agent waits for a message, for at most [patience].
func (k *killer) idle(ctx context.Context, id string) error {
	for began := time.Now(); time.Since(began) < patience; {
		look, err := k.agents.Describe(ctx, id)
		if err != nil {
			return err
		}
		if look.Status == client.Waiting {
			return nil
		}
	}
	return fmt.Errorf("the agent %s does not wait for a message", id)
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

// lose starts agents, and sends a signal to the process of their worker while the model calls of all of them are under way. It returns the times from the
// signal to the next requests to the model, in seconds. `phase` is that of [killer.kill].
func (k *killer) lose(ctx context.Context, id string, agents int, signal func(*os.Process) error, phase time.Duration) (took []float64, err error) {
	k.silent.Store(true)
	for n := range agents {
		if _, err := k.agents.Start(ctx, client.StartOptions{ID: fmt.Sprint(id, "-", n), Agent: "x", Message: "hello"}); err != nil {
			return nil, err
		}
	}
	for range agents {
		if _, err := k.next(); err != nil {
			return nil, err
		}
	}
	second, err := k.worker(ctx)
	if err != nil {
		return nil, err
	}
	time.Sleep(phase)
	first := k.first
	k.first = second
	defer end(first)
	k.silent.Store(false)
	lost := time.Now()
	if err := signal(first.Process); err != nil {
		return nil, err
	}
	for range agents {
		at, err := k.next()
		if err != nil {
			return nil, err
		}
		took = append(took, at.Sub(lost).Seconds())
	}
	return took, nil
}

// end kills a worker. It does nothing if there is none.
func end(worker *exec.Cmd) {
	if worker != nil {
		_ = worker.Process.Kill() // the process may have ended before
		_ = worker.Wait()
	}
}

// worker starts a worker process and waits until it is ready. The caller must call [end].
func (k *killer) worker(ctx context.Context) (*exec.Cmd, error) {
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
	var said strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.Contains(lines.Text(), "Ready.") {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return cmd, nil
		}
		fmt.Fprintln(&said, lines.Text())
	}
	end(cmd)
	return nil, fmt.Errorf("the worker ended:\n%s", said.String())
}
