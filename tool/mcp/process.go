package mcp

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
)

const (
	// stopGrace is how long a server has to exit after its stdin was closed, and
	// again after SIGTERM.
	stopGrace = 3 * time.Second
	// drainGrace is how long a pipe is still read after the server has exited, in
	// case something else holds its other end.
	drainGrace = time.Second
	// maxLogLine bounds a line of stderr in the log, in bytes.
	maxLogLine = 8 << 10
)

// errNothingWritten marks a write that failed before its first byte.
var errNothingWritten = errors.New("nothing written")

// processMark is the environment variable by which the processes of a server are found again that left its group.
const processMark = "REAGENT_MCP_PROCESS"

// process is a server that was started here. Should this process die without
// stopping it, the server's stdin is closed, on which servers exit; on Linux the server is killed too.
type process struct {
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *os.File
	exited chan struct{} // closed when the server is gone, with its process group
	stop   func()        // stops the server; returns at once
}

// startProcess starts a command. Each line of its stderr goes to log, from one
// goroutine.
func startProcess(cmd *exec.Cmd, log func(line string)) (*process, error) {
	var pipes [3][2]*os.File // stdin, stdout, stderr; read end, write end
	closeAll := func() {
		for _, p := range pipes {
			for _, f := range p {
				if f != nil {
					f.Close()
				}
			}
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
	prepare(cmd)
	mark := processMark + "=" + uuid.NewString()
	cmd.Env = append(cmd.Env, mark)
	started, exited := make(chan error), make(chan struct{})
	go func() {
		// Linux sends the signal of a parent's death when the thread ends that made the child. So this thread stays until
		// the child is gone.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
			close(exited)
		}
	}()
	if err := <-started; err != nil {
		closeAll()
		return nil, err
	}
	for _, f := range []*os.File{pipes[0][0], pipes[1][1], pipes[2][1]} {
		f.Close() // the server's ends
	}
	p := &process{cmd: cmd, stdin: pipes[0][1], stdout: pipes[1][0], exited: make(chan struct{})}
	p.stop = sync.OnceFunc(func() {
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
		<-exited
		// What the server started and left behind goes with it, also from a session of its own.
		killGroup(cmd)
		killMarked(mark)
		select { // its last lines say why it ended
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

// terminate follows the MCP specification: stdin is closed, then SIGTERM, then
// SIGKILL.
func (p *process) terminate() {
	for _, signal := range []func(*exec.Cmd){terminateGroup, killGroup} {
		timer := time.NewTimer(stopGrace)
		select {
		case <-p.exited:
			timer.Stop()
			return
		case <-timer.C:
			signal(p.cmd)
		}
	}
}

// Read reads the server's stdout.
func (p *process) Read(b []byte) (int, error) { return p.stdout.Read(b) }

// Write writes to the server's stdin.
func (p *process) Write(b []byte) (int, error) {
	n, err := p.stdin.Write(b)
	if err != nil && n == 0 {
		err = fmt.Errorf("%w: %w", errNothingWritten, err)
	}
	return n, err
}

// Close stops the server without waiting for it: the SDK closes a connection
// while it holds a lock.
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
