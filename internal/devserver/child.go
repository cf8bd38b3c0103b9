package devserver

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// grace is the time that a server has to end when asked.
const grace = 10 * time.Second

// child is a process that does not outlive this one.
type child struct {
	cmd     *exec.Cmd
	tail    *tail
	stopped atomic.Bool
	ending  sync.Once

	done    chan struct{} // closed when the process is gone
	waitErr error         // set before done is closed
}

func startChild(binary string, args []string, logTo io.Writer) (*child, error) {
	c := &child{cmd: exec.Command(binary, args...), done: make(chan struct{}), tail: &tail{}}
	c.cmd.Stdout = writerFunc(func(p []byte) (int, error) {
		c.tail.add(p)
		return len(p), nil
	})
	c.cmd.Stderr = writerFunc(func(p []byte) (int, error) {
		c.tail.add(p)
		// A server that was asked to end warns of every connection it closes.
		if !c.stopped.Load() {
			_, _ = logTo.Write(p) // nobody to tell
		}
		return len(p), nil
	})
	// A grandchild that kept the pipes would keep Wait too.
	c.cmd.WaitDelay = time.Second
	c.cmd.Env = environment(os.Environ())
	bindToParent(c.cmd)

	started := make(chan error)
	go func() {
		// Linux sends the death signal when the thread that made the child ends,
		// not the process; so this thread is kept until the child is gone.
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

// stop returns when the process is gone, whoever asked first.
func (c *child) stop() {
	c.ending.Do(func() {
		select {
		case <-c.done:
			return // by itself; that is worth an error
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

// exit says how the process ended. Call it only after done is closed.
func (c *child) exit() error {
	if c.waitErr == nil {
		return errors.New("exit status 0")
	}
	return c.waitErr
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
