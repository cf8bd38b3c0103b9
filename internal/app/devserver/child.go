package devserver

import (
	"cmp"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// grace is how long a process may take to end after it was asked to end. A process that still runs after this time is killed.
const grace = 10 * time.Second

// child is a running child process. On Linux, the child process ends when this process ends; see [bindToParent].
type child struct {
	cmd     *exec.Cmd
	tail    *tail
	stopped atomic.Bool // set when stop asks the process to end
	ending  sync.Once

	done    chan struct{} // closed when the process is gone
	waitErr error         // set before done is closed
}

// startChild starts the program at the path `binary`. It copies the program's standard error to `logTo` until [child.stop] is
// called. The field `tail` of the child keeps the last lines of the program's standard output and standard error.
func startChild(binary string, args []string, logTo io.Writer) (*child, error) {
	c := &child{cmd: exec.Command(binary, args...), done: make(chan struct{}), tail: &tail{}}
	c.cmd.Stdout = writerFunc(func(p []byte) (int, error) {
		c.tail.add(p)
		return len(p), nil
	})
	c.cmd.Stderr = writerFunc(func(p []byte) (int, error) {
		c.tail.add(p)
		// While it stops, the server logs a warning for every connection that it closes.
		if !c.stopped.Load() {
			_, _ = logTo.Write(p) // an error of the log must not stop the server
		}
		return len(p), nil
	})
	// Without WaitDelay, Wait would block while a child process of the server holds the output pipes open.
	c.cmd.WaitDelay = time.Second
	c.cmd.Env = environment(os.Environ())
	bindToParent(c.cmd)

	started := make(chan error)
	go func() {
		// Linux sends the parent-death signal when the thread that started the child ends, and not only when the process ends.
		// So this goroutine keeps its thread until the child has ended.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := startPrivately(c.cmd)
		started <- err
		if err != nil {
			return
		}
		c.waitErr = c.cmd.Wait()
		close(c.done)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return c, nil
}

// stop asks the process to end, and kills it after [grace]. It may be called several times, and each call returns when the process
// is gone.
func (c *child) stop() {
	c.ending.Do(func() {
		select {
		case <-c.done:
			return // the process ended by itself, which Server.Err reports
		default:
		}
		c.stopped.Store(true)
		terminate(c.cmd.Process)
		select {
		case <-c.done:
		case <-time.After(grace):
			killGroup(c.cmd.Process)
		}
	})
	<-c.done
}

// exit must be called only after `c.done` is closed.
func (c *child) exit() error {
	return cmp.Or(c.waitErr, errors.New("exit status 0"))
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
