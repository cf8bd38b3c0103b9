//go:build unix

package mcp

import (
	"os/exec"
	"syscall"
)

// ownGroup puts the command into a process group of its own, so that what it
// starts can be ended with it: npx, uvx and shells leave the server as a child.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func terminateGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
