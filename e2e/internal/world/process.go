package world

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/stretchr/testify/require"
)

// Process is a process that [StartProcess] has started, with its output.
type Process struct {
	Printed
	// Cmd is the started command.
	Cmd  *exec.Cmd
	done chan struct{}
}

// Printed is an io.Writer that stores the output of a program. It is safe for concurrent use.
type Printed struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write stores a part of the output. It never fails.
func (p *Printed) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

// Output returns the output until now.
func (p *Printed) Output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// StartProcess starts a command. The output of the command is stored in the [Process]. If the caller has set cmd.Stdout or
// cmd.Stderr, this output goes to the caller instead.
func StartProcess(cmd *exec.Cmd) (*Process, error) {
	p := &Process{Cmd: cmd, done: make(chan struct{})}
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

// Kill sends SIGKILL and waits until the process has ended. The process has no time to flush or report anything.
func (p *Process) Kill() {
	_ = p.Cmd.Process.Kill()
	<-p.done
}

// Terminate sends SIGTERM, so that a worker shuts down in an orderly way. It does not wait for the end.
func (p *Process) Terminate() { _ = p.Cmd.Process.Signal(syscall.SIGTERM) }

// Wait waits until the process has ended.
func (p *Process) Wait() { <-p.done }

// Ended reports whether the process has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Start starts a program that [Main] or [Build] has built, and kills it at the end of the test. The parameter name is the name
// for [Binary].
func (w *World) Start(name string, args ...string) *Process {
	return w.StartCommand(w.Command(name, args...))
}

// StartCommand starts a command, and kills the process at the end of the test. If the test has failed, it logs the output.
func (w *World) StartCommand(cmd *exec.Cmd) *Process {
	p, err := StartProcess(cmd)
	require.NoError(w.T, err)
	w.T.Cleanup(func() {
		p.Kill()
		if w.T.Failed() {
			w.T.Logf("%v:\n%s", cmd.Args, p.Output())
		}
	})
	return p
}

// Command returns a command for a program that [Main] or [Build] has built. The parameter name is the name for [Binary]. The
// command has the environment of [World.CommandOf].
func (w *World) Command(name string, args ...string) *exec.Cmd {
	return w.CommandOf(Binary(name), args...)
}

// CommandOf returns a command for the program at the given path. In its environment, the program finds the Temporal server and
// the configuration file of w.
func (w *World) CommandOf(path string, args ...string) *exec.Cmd {
	cmd := exec.Command(path, args...)
	address := w.Address
	if address == "" {
		address = Server.Address()
	}
	cmd.Env = append(os.Environ(), "TEMPORAL_ADDRESS="+address, "REAGENT_CONFIG="+w.Config, "XDG_STATE_HOME="+filepath.Dir(w.Config))
	return cmd
}
