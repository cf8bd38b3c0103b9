package demo

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/reagent-dev/reagent/config"
)

const readyLine = "Ready."

// stopTimeout is the time that a worker has to end its calls and to send its telemetry. After that, it is killed.
const stopTimeout = 5 * time.Second

// A worker process ends when its standard input is closed, so it never outlives this program, even if this program is killed.
type worker struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer  // complete when done is closed, and not read before
	done   chan struct{} // closed when the process has ended
}

// startWorker returns when the worker is ready. The process is stopped when the context ends. It inherits the API key, if there is one.
func startWorker(ctx context.Context, command []string, modelURL string) (*worker, error) {
	w := &worker{cmd: exec.CommandContext(ctx, command[0], command[1:]...), done: make(chan struct{})}
	// Neither the environment nor the user's own file may name another Temporal server.
	w.cmd.Env = slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "TEMPORAL_") })
	w.cmd.Env = append(w.cmd.Env, "TEMPORAL_CONFIG_FILE="+os.DevNull, config.BaseURLEnv+"="+modelURL)
	w.cmd.Stderr = &w.stderr
	w.cmd.Cancel = w.terminate
	w.cmd.WaitDelay = stopTimeout
	_, stdinErr := w.cmd.StdinPipe() // open until the process has ended
	stdout, stdoutErr := w.cmd.StdoutPipe()
	if err := errors.Join(stdinErr, stdoutErr, w.cmd.Start()); err != nil {
		return nil, fmt.Errorf("start a worker: %w", err)
	}
	lines := bufio.NewScanner(stdout)
	for lines.Scan() && lines.Text() != readyLine {
	}
	ready := lines.Text() == readyLine // after the last line, the text is empty
	go func() {
		defer close(w.done)
		for lines.Scan() { // Wait must not be called before all output has been read
		}
		_ = w.cmd.Wait() // only the end matters, not the exit code
	}()
	if !ready {
		<-w.done
		return nil, w.failure()
	}
	return w, nil
}

// failure must not be called before `w.done` is closed.
func (w *worker) failure() error {
	return fmt.Errorf("the worker ended: %s", strings.TrimSpace(w.stderr.String()))
}

func (w *worker) pid() int { return w.cmd.Process.Pid }

func (w *worker) terminate() error {
	if err := w.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return w.cmd.Process.Kill() // where there is no such signal
	}
	return nil
}

// stop sends SIGTERM, so that the worker sends its telemetry before it ends. If it does not end within [stopTimeout], stop kills it. stop returns
// when the process has ended. If w is nil, stop does nothing.
func (w *worker) stop() {
	if w == nil {
		return
	}
	_ = w.terminate() // an error means that the process has ended already
	select {
	case <-w.done:
	case <-time.After(stopTimeout):
		w.kill()
	}
}

// kill sends SIGKILL, after which the process cannot flush or report anything, and returns when the process has ended.
func (w *worker) kill() {
	_ = w.cmd.Process.Kill() // an error means that the process has ended already
	<-w.done
}
