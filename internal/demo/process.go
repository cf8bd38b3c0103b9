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

// readyLine is the line that a worker prints when it serves.
const readyLine = "Ready."

// outputDelay limits the wait for the rest of a killed worker's output.
const outputDelay = time.Second

// process is a worker process. It ends when its standard input is closed, so that it never outlives this program, even if this
// program is killed.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	ready chan struct{} // closed when the worker serves
	done  chan struct{} // closed when the process has ended

	mu     sync.Mutex
	stderr bytes.Buffer
}

// maxStderr is the size from which on no more of a worker's standard error is kept, in bytes.
const maxStderr = 16 << 10

// startProcess starts a worker and returns when it serves. If the process ends before, the error contains its standard error. The
// end of ctx after that has no effect.
func startProcess(ctx context.Context, command, env []string) (*process, error) {
	cmd := exec.Command(command[0], command[1:]...) //nolint:noctx // the process outlives the context of its start
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
		_ = p.cmd.Wait() // only the end matters, not the exit code
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

// Write keeps the worker's standard error for the text of a later error.
func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stderr.Len() < maxStderr {
		p.stderr.Write(b)
	}
	return len(b), nil
}

// failure returns an error that says what happened and what the worker wrote to its standard error.
func (p *process) failure(what string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Errorf("%s: %s", what, strings.TrimSpace(p.stderr.String()))
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// kill sends SIGKILL, after which the process cannot flush or report anything. It returns when the process has ended.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // an error means that the process has ended already
	<-p.done
	_ = p.stdin.Close()
}
