// Package processgroup starts a command in a process group of its own, and ends the whole group: the command and the processes
// that it has started.
package processgroup

import (
	"os/exec"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// variable is the name of an environment variable with which [killMarked] finds the processes of one [Group]. [Start] sets it to
// a new value for each command. Child processes inherit it, even if they leave the process group.
const variable = "REAGENT_PROCESS_GROUP"

// pollInterval is the time between two checks whether a process group still has processes, because no system reports the end of a group.
const pollInterval = 10 * time.Millisecond

// Group is a command that was started by [Start], with the processes that the command has started. On Linux the kernel kills
// the command if the worker crashes. A Group is safe for concurrent use.
type Group struct {
	cmd   *exec.Cmd
	ended chan struct{}
	err   error        // the result of cmd.Wait; may be read after ended is closed
	until atomic.Int64 // the time until which processes may still run after SIGTERM, in nanoseconds since 1970; see Terminate
}

// Start starts a command in a new process group. It sets the field SysProcAttr of the command and adds a variable to the field
// Env. Set Env before, because with a nil Env the command gets only this variable: see [Environ]. Stdin, Stdout and Stderr of the
// command must be nil or of the type [*os.File], because a process that keeps a pipe open could delay the end of the group.
//
// When the command has exited, the group kills its processes that are still running:
//   - On Linux, also processes that have left the process group: all of them if the worker may make control groups. If it may not,
//     only those that have not changed their environment variables.
//   - On systems without process groups, none: only the command itself can be ended.
func Start(cmd *exec.Cmd) (*Group, error) {
	mark := variable + "=" + uuid.NewString()
	cmd.Env = append(cmd.Env, mark)
	started, g := make(chan error), &Group{ended: make(chan struct{})}
	go func() {
		// Linux sends the parent-death signal when the thread that started the child ends. So this thread must not end
		// before the child has exited. See prctl(2), PR_SET_PDEATHSIG.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		running, held, err := startIn(newCgroup(), cmd)
		g.cmd = running
		started <- err
		if err != nil {
			return
		}
		g.err = running.Wait()
		for time.Now().UnixNano() < g.until.Load() && groupRuns(running) {
			time.Sleep(pollInterval)
		}
		killGroup(running)
		killMarked(mark)
		held.end()
		close(g.ended)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return g, nil
}

// startIn starts a command in a control group. If that fails, it removes the control group and starts a copy of the command without
// one. It returns the command that is running, and its control group.
func startIn(c *cgroup, cmd *exec.Cmd) (*exec.Cmd, *cgroup, error) {
	again := &exec.Cmd{Path: cmd.Path, Args: cmd.Args, Env: cmd.Env, Dir: cmd.Dir, Stdin: cmd.Stdin, Stdout: cmd.Stdout, Stderr: cmd.Stderr, Err: cmd.Err}
	prepare(cmd)
	c.hold(cmd)
	err := cmd.Start()
	if err == nil || c == nil {
		return cmd, c, err
	}
	c.remove()
	prepare(again)
	return again, nil, again.Start()
}

// Ended returns a channel that is closed after the command has exited and the other processes of the group were killed.
func (g *Group) Ended() <-chan struct{} { return g.ended }

// Wait waits until the channel of [Group.Ended] is closed. It returns the error of [exec.Cmd.Wait].
func (g *Group) Wait() error {
	<-g.ended
	return g.err
}

// Terminate sends SIGTERM to the group. When the command has exited, the other processes of the group are killed, but not before
// `grace` has passed since the call of Terminate. The command itself is not killed after this time: see [Group.Kill]. On systems
// without SIGTERM, Terminate does the same as Kill.
func (g *Group) Terminate(grace time.Duration) {
	g.until.Store(time.Now().Add(grace).UnixNano())
	g.signal(terminateGroup)
}

// Kill sends SIGKILL to the group. On systems without process groups it kills only the command.
func (g *Group) Kill() { g.signal(killGroup) }

// signal calls `send` with the command, unless the group has ended: the ID of the group may then belong to other processes.
func (g *Group) signal(send func(*exec.Cmd)) {
	select {
	case <-g.ended:
	default:
		send(g.cmd)
	}
}
