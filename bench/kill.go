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
	"github.com/reagent-dev/reagent/workflows"
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
	for _, during := range []bool{true, false} {
		name := "between turns"
		if during {
			name = "during a model call"
		}
		progressf("SIGKILL %s, %d times", name, times)
		var took []float64
		for i := range times {
			// The kills are spread over the time between two heartbeats.
			phase := workflows.DefaultHeartbeatTimeout / 2 * time.Duration(i) / time.Duration(times)
			d, err := k.kill(ctx, fmt.Sprintf("killed-%d-%v", i, during), during, phase)
			if err != nil {
				return err
			}
			progressf("  %.2f s", d.Seconds())
			took = append(took, d.Seconds())
		}
		slices.Sort(took)
		middle, worst := took[len(took)/2], took[len(took)-1]
		l.report.goal(fmt.Sprintf("SIGKILL %s to the next step, p50 and worst of %d", name, times),
			fmt.Sprintf("%.2f, %.2f s", middle, worst), middle <= 3 && worst <= 5, "≤ 3, ≤ 5 s")
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
	end    func()         // kills the worker that runs now
}

func newKiller(ctx context.Context, l *lab) (*killer, error) {
	dir, err := os.MkdirTemp("", "reagent-bench-")
	if err != nil {
		return nil, err
	}
	k := &killer{dir: dir, asked: make(chan time.Time, 100), agents: client.New(l.temporal, "killed"), end: func() {}}
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
	if err == nil {
		var end func()
		if end, err = k.worker(ctx); err == nil {
			k.end = end
		}
	}
	if err != nil {
		k.close()
		return nil, err
	}
	return k, nil
}

func (k *killer) path(name string) string { return filepath.Join(k.dir, name) }

func (k *killer) close() {
	k.end()
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
	first := k.end
	k.end = second
	first()
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
