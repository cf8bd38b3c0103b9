package world

import (
	"bytes"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"github.com/stretchr/testify/require"
)

// Process is a running program of ours.
type Process struct {
	Printed
	// Cmd is the command, which has been started.
	Cmd  *exec.Cmd
	done chan struct{}
}

// Printed is what a program has printed so far.
type Printed struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write keeps what is printed.
func (p *Printed) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

// Output returns what was printed until now.
func (p *Printed) Output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// StartProcess starts a command. What the command prints goes to the process, but for an output that the caller has set.
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

// Kill sends SIGKILL and waits for the end: nothing is flushed, nobody is told.
func (p *Process) Kill() {
	_ = p.Cmd.Process.Kill()
	<-p.done
}

// Terminate sends SIGTERM, with which a worker stops in order.
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

// Start starts a program that Main or Build has built. The end of the test kills it.
func (w *World) Start(name string, args ...string) *Process {
	return w.StartCommand(w.Command(name, args...))
}

// StartCommand starts a command. The end of the test kills it, and logs what it has printed if the test has failed.
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

// Command returns a command that runs a program that Main or Build has built, in the environment of CommandOf.
func (w *World) Command(name string, args ...string) *exec.Cmd {
	return w.CommandOf(Binary(name), args...)
}

// CommandOf returns a command that runs the program at a path. Its environment names the server and the configuration of w.
func (w *World) CommandOf(path string, args ...string) *exec.Cmd {
	cmd := exec.Command(path, args...)
	address := w.Address
	if address == "" {
		address = Server.Address()
	}
	cmd.Env = append(os.Environ(), "TEMPORAL_ADDRESS="+address, "REAGENT_CONFIG="+w.Config)
	return cmd
}
