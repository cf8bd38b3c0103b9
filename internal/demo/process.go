package demo

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// readyLine is what a worker prints when it serves.
const readyLine = "Ready."

// outputDelay is how long the output of a killed worker is waited for.
const outputDelay = time.Second

// process is a worker process. It ends when its standard input does, so that it does not
// outlive this program, however that ends.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	ready chan struct{}
	done  chan struct{}

	mu     sync.Mutex
	stderr bytes.Buffer
}

// maxStderr bounds what is kept of a worker's words.
const maxStderr = 16 << 10

// startProcess starts a worker and returns when it serves.
func startProcess(ctx context.Context, command, env []string) (*process, error) {
	cmd := exec.Command(command[0], command[1:]...) //nolint:noctx // it outlives the context of its start
	p := &process{cmd: cmd, ready: make(chan struct{}), done: make(chan struct{})}
	p.cmd.Env = env
	p.cmd.WaitDelay = outputDelay
	p.cmd.Stderr = p
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start a worker: %w", err)
	}
	p.stdin = stdin
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start a worker: %w", err)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a worker: %w", err)
	}
	go func() {
		defer close(p.done)
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			if lines.Text() == readyLine {
				close(p.ready)
			}
		}
		_ = p.cmd.Wait() // that it ended is what matters
	}()
	select {
	case <-p.ready:
		return p, nil
	case <-p.done:
		return nil, p.failure("the worker could not start")
	case <-ctx.Done():
		p.kill()
		return nil, context.Cause(ctx)
	}
}

// Write keeps the worker's warnings for an error.
func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stderr.Len() < maxStderr {
		p.stderr.Write(b)
	}
	return len(b), nil
}

func (p *process) failure(what string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Errorf("%s: %s", what, strings.TrimSpace(p.stderr.String()))
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// kill is SIGKILL: nothing is flushed, nobody is told. It returns when the process is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // gone already: fine
	<-p.done
	_ = p.stdin.Close()
}
