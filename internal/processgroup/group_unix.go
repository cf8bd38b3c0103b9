//go:build unix

package processgroup

import (
	"errors"
	"os/exec"
	"syscall"
)

func terminateGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// groupRuns reports whether the process group of the command still has processes. A process that has exited counts until its parent
// has waited for it.
func groupRuns(cmd *exec.Cmd) bool {
	return !errors.Is(syscall.Kill(-cmd.Process.Pid, 0), syscall.ESRCH)
}
