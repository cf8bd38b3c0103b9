//go:build unix && !linux

package mcp

import (
	"os/exec"
	"syscall"
)

// prepare puts the command into a process group of its own, so that what it
// starts can be ended with it: npx, uvx and shells leave the server as a child.
func prepare(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killMarked does nothing: only Linux shows the environments of processes as files.
func killMarked(string) {}
