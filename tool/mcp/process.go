package mcp

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reagent-dev/reagent/internal/processgroup"
)

const (
	// stopGrace is the time that a server has to exit after its stdin was closed. After SIGTERM it has the same time again.
	stopGrace = 3 * time.Second
	// drainGrace limits the time for which a pipe is still read after the server has exited. Without a limit the read could
	// wait forever, because another process may keep the write end of the pipe open.
	drainGrace = time.Second
	// maxLogLine limits the length of a line of stderr in the log, in bytes.
	maxLogLine = 8 << 10
)

// errNothingWritten means that a write to the server's stdin failed and that no byte was written. The server did not get the
// message.
var errNothingWritten = errors.New("no byte of the message could be written to the MCP server's stdin")

// process is the running program of a local MCP server. This package has started the program. If the worker crashes, the
// server's stdin is closed, and most servers then exit. On Linux the kernel also kills the server.
type process struct {
	group  *processgroup.Group
	stdin  *os.File
	stdout *os.File
	exited chan struct{} // closed after the server has exited, its other processes have got SIGKILL, and its stderr was logged
	stop   func()        // begins to stop the server and returns at once; may be called several times
	// stopping says that stop was called. left says that the server closed its end of stdin or stdout before that.
	stopping, left atomic.Bool
}

// exitError is the error for a server that ended by itself before it was connected.
type exitError struct {
	how string // such as "exited with code 3"
	err error  // what the connection said about it
}

// Error says how the server ended. What the connection says about it would only repeat this in other words.
func (e *exitError) Error() string { return "the server " + e.how + " before it answered" }

func (e *exitError) Unwrap() error { return e.err }

// startProcess calls `log` with each line of stderr, always from the same goroutine.
func startProcess(cmd *exec.Cmd, log func(line string)) (*process, error) {
	var pipes [3][2]*os.File // stdin, stdout, stderr; read end, write end
	closeAll := func() {
		for _, p := range pipes {
			p[0].Close() // a nil file returns an error
			p[1].Close()
		}
	}
	for i := range pipes {
		var err error
		if pipes[i][0], pipes[i][1], err = os.Pipe(); err != nil {
			closeAll()
			return nil, err
		}
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = pipes[0][0], pipes[1][1], pipes[2][1]
	group, err := processgroup.Start(cmd)
	if err != nil {
		closeAll()
		return nil, err
	}
	for _, f := range []*os.File{pipes[0][0], pipes[1][1], pipes[2][1]} {
		f.Close() // only the server uses these ends of the pipes
	}
	p := &process{group: group, stdin: pipes[0][1], stdout: pipes[1][0], exited: make(chan struct{})}
	p.stop = sync.OnceFunc(func() {
		p.stopping.Store(true)
		p.stdin.Close()
		go p.terminate()
	})
	stderr := pipes[2][0]
	logged := make(chan struct{})
	go func() {
		defer close(logged)
		logLines(stderr, log)
	}()
	go func() {
		<-group.Ended()
		select { // wait for the last lines of stderr, because they may say why the server exited
		case <-logged:
		case <-time.After(drainGrace):
		}
		time.AfterFunc(drainGrace, func() {
			p.stdout.Close()
			stderr.Close()
		})
		close(p.exited)
	}()
	return p, nil
}

// terminate stops the server as the MCP specification describes. The caller must have closed the server's stdin. terminate
// waits up to [stopGrace] for the server to exit and then sends SIGTERM. It waits up to stopGrace again and then sends SIGKILL.
// terminate returns as soon as the server has exited or SIGKILL was sent.
func (p *process) terminate() {
	for _, signal := range []func(){func() { p.group.Terminate(0) }, p.group.Kill} {
		timer := time.NewTimer(stopGrace)
		select {
		case <-p.exited:
			timer.Stop()
			return
		case <-timer.C:
			signal()
		}
	}
}

// Read reads the server's stdout.
func (p *process) Read(b []byte) (int, error) {
	n, err := p.stdout.Read(b)
	if err != nil && !p.stopping.Load() {
		p.left.Store(true)
	}
	return n, err
}

// explain returns an error about a connection that could not be made. If the server has ended by itself, it is an [exitError]. Call explain
// after the server has exited.
func (p *process) explain(err error) error {
	if p == nil || !p.left.Load() {
		return err
	}
	exit, ok := errors.AsType[*exec.ExitError](p.group.Wait())
	switch {
	case !ok:
		return &exitError{"exited with code 0", err}
	case exit.ExitCode() < 0:
		return &exitError{"was ended by a signal (" + exit.String() + ")", err}
	}
	return &exitError{fmt.Sprintf("exited with code %d", exit.ExitCode()), err}
}

// Write writes to the server's stdin. If no byte was written, the error wraps [errNothingWritten].
func (p *process) Write(b []byte) (int, error) {
	n, err := p.stdin.Write(b)
	if err != nil && !p.stopping.Load() {
		p.left.Store(true)
	}
	if err != nil && n == 0 {
		err = fmt.Errorf("%w: %w", errNothingWritten, err)
	}
	return n, err
}

// Close begins to stop the server and returns at once. Close does not wait until the server has exited, because the SDK holds a
// lock while it calls Close.
func (p *process) Close() error {
	p.stop()
	return nil
}

func logLines(f *os.File, log func(string)) {
	r := bufio.NewReaderSize(f, maxLogLine)
	for {
		line, isPrefix, err := r.ReadLine()
		if err != nil {
			return
		}
		if text := strings.ToValidUTF8(string(line), "\uFFFD"); text != "" {
			log(text)
		}
		for isPrefix && err == nil {
			_, isPrefix, err = r.ReadLine()
		}
	}
}
