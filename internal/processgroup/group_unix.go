//go:build unix

package processgroup

import (
	"os/exec"
	"syscall"
)

// terminateGroup sends SIGTERM to the process group of the command.
func terminateGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

// killGroup sends SIGKILL to the process group of the command.
func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
