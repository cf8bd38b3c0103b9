package builtin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/reagent-dev/reagent/internal/processgroup"
	"github.com/reagent-dev/reagent/tool"
)

const (
	defaultShellTimeout = 2 * time.Minute
	// stopGrace is the time that the processes of a command have to exit after SIGTERM. Then they get SIGKILL. With the times
	// killGrace and drainGrace it must be less than the time after which [tool.Run] abandons a call.
	stopGrace = 2 * time.Second
	// killGrace limits the time for which a call waits after SIGKILL. A process that waits for a device may not end.
	killGrace = time.Second
	// drainGrace limits the time for which output is read after the command has ended. Without a limit the read could wait forever,
	// because a process that could not be ended may keep the pipe open.
	drainGrace = time.Second
)

// Shell configures the tool `shell`, with which a model runs commands on the machine of the worker.
//
// A command runs as the user of the worker. It can do everything that this user can do: read and write any file, connect to any
// address, and start processes. Neither Folder nor the other options limit this. So give the worker a container or a machine of its
// own, without anything that the model must not see or change.
type Shell struct {
	// Folder is the working folder of the commands. It must exist.
	Folder string
	// Timeout limits the duration of one command. A call can ask for less. Defaults to 2 minutes. The worker's own limit for one
	// tool call must be longer. If it is not, a command that takes too long has an unknown outcome, and its output is lost.
	Timeout time.Duration
	// Env has environment variables for the commands, by name. From the worker's environment, a command gets only HOME, LANG,
	// LOGNAME, PATH, TMPDIR, TZ and USER. If a variable is in both, the value in Env is used. A command can show all its variables
	// to the model.
	Env map[string]string
}

type shell struct {
	folder  string
	timeout time.Duration
	env     []string // NAME=value
}

type shellIn struct {
	Command string `json:"command" jsonschema:"what /bin/sh runs"`
	Timeout int    `json:"timeout,omitempty" jsonschema:"time limit in seconds, if it is to be shorter than usual"`
}

// The effect is [tool.AtMostOnce], because a command may do anything, and nobody knows whether it may run twice.
func newShell(o Shell) (tool.Tool, error) {
	folder, err := existingFolder(o.Folder)
	if err != nil {
		return nil, err
	}
	s := shell{folder: folder, timeout: cmp.Or(max(o.Timeout, 0), defaultShellTimeout), env: shellEnviron(o.Env)}
	description := fmt.Sprintf("Runs a command with /bin/sh and returns its output (stdout and stderr) and its exit code. "+
		"Each call starts a new shell in the same folder, without input. Processes in the background are ended with the command. "+
		"A command may take %v at most.", s.timeout)
	return asking{tool.MustFunc("shell", description, tool.AtMostOnce, s.run)}, nil
}

// From the worker's environment, only these few variables are passed on, because the others may be secret.
func shellEnviron(extra map[string]string) []string {
	env := []string{"LANG=C.UTF-8", "PATH=/usr/local/bin:/usr/bin:/bin"} // if the worker has none
	for _, name := range []string{"HOME", "LANG", "LOGNAME", "PATH", "TMPDIR", "TZ", "USER"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value) // of two values for one name, os/exec uses the last
		}
	}
	for name, value := range extra {
		env = append(env, name+"="+value)
	}
	return env
}

// run returns an error, and no result, in these cases:
//   - The context has ended before. The error wraps [tool.ErrNotRun] and the context's error.
//   - The end of the context has ended the command. The error wraps the context's error.
//   - A process of the command is still there after SIGKILL. The error wraps [tool.ErrOutcomeUnknown].
//   - The command is empty or cannot be started.
func (s shell) run(ctx context.Context, in shellIn) (tool.Result, error) {
	if strings.TrimSpace(in.Command) == "" {
		return tool.Result{}, errors.New("the command is empty")
	}
	if err := ctx.Err(); err != nil {
		return tool.Result{}, fmt.Errorf("%w: %w", tool.ErrNotRun, err)
	}
	out, write, err := os.Pipe()
	if err != nil {
		return tool.Result{}, fmt.Errorf("the command was not started: %w", err)
	}
	defer out.Close()
	cmd := exec.Command("/bin/sh", "-c", in.Command) //nolint:noctx // waitOrStop ends the whole process group
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = s.folder, append([]string(nil), s.env...), write, write
	group, err := processgroup.Start(cmd)
	write.Close()
	if err != nil {
		return tool.Result{}, fmt.Errorf("the command was not started: %w", err)
	}
	text := output{show: tool.InfoFrom(ctx).Progress}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		_, _ = io.Copy(&text, out) // the error is that of out.Close
	}()

	limit := s.limit(in.Timeout)
	ended := waitOrStop(ctx, group, limit)
	select {
	case <-copied:
	case <-time.After(drainGrace):
		out.Close()
		<-copied
	}
	switch ended {
	case endedByItself:
		return commandResult(&text, group.Wait()), nil
	case endedByContext:
		return tool.Result{}, fmt.Errorf("the command was ended before it was done: %w", ctx.Err())
	case endedByLimit:
		return tool.Result{IsError: true, Content: text.String() + fmt.Sprintf(
			"[the command was ended after %v, its time limit; it may have done a part of its work]\n", limit)}, nil
	default:
		return tool.Result{}, fmt.Errorf("%w: a process of the command is still there after SIGKILL", tool.ErrOutcomeUnknown)
	}
}

// `seconds` is what the model asks for; 0 or less means that it asks for nothing.
func (s shell) limit(seconds int) time.Duration {
	if seconds <= 0 || float64(seconds) >= s.timeout.Seconds() {
		return s.timeout
	}
	return time.Duration(seconds) * time.Second
}

type commandEnd int

const (
	endedByItself commandEnd = iota
	endedByContext
	endedByLimit
	notEnded // SIGKILL had no effect
)

// waitOrStop waits until a command has ended. At the end of the context, and after the time `limit`, it ends the command and all
// processes of its group.
func waitOrStop(ctx context.Context, group *processgroup.Group, limit time.Duration) commandEnd {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	end := endedByLimit
	select {
	case <-group.Ended():
		return endedByItself
	case <-ctx.Done():
		end = endedByContext
	case <-timer.C:
	}
	select {
	case <-group.Ended(): // at the same moment
		return endedByItself
	default:
	}
	for _, step := range []struct {
		signal func()
		grace  time.Duration
	}{{func() { group.Terminate(stopGrace) }, stopGrace}, {group.Kill, killGrace}} {
		step.signal()
		timer.Reset(step.grace)
		select {
		case <-group.Ended():
			return end
		case <-timer.C:
		}
	}
	return notEnded
}

// `err` is the error of [exec.Cmd.Wait].
func commandResult(text *output, err error) tool.Result {
	how := "exit code 0"
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() >= 0 {
		how = fmt.Sprintf("exit code %d", exit.ExitCode())
	} else if err != nil {
		how = err.Error() // such as "signal: killed"
	}
	return tool.Result{Content: text.String() + "[" + how + "]\n", IsError: err != nil}
}
