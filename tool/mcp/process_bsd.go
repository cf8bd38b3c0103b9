//go:build unix && !linux

package mcp

import (
	"os/exec"
	"syscall"
)

// prepare makes the command start in a new process group, so that terminateGroup and killGroup also reach the command's child
// processes. If the command is npx, uvx or a shell, the server itself is a child process.
func prepare(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killMarked does nothing on this system. To find processes by an environment variable, it would need the files
// /proc/<pid>/environ, which only Linux has.
func killMarked(string) {}
