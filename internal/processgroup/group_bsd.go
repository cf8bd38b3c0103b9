//go:build unix && !linux

package processgroup

import (
	"os/exec"
	"syscall"
)

// prepare makes the command start in a new process group. Therefore [terminateGroup] and [killGroup] also reach the command's
// child processes.
func prepare(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killMarked does nothing on this system. On Linux it kills all processes that have a given environment variable. For this it
// needs the files /proc/<pid>/environ, which this system does not have.
func killMarked(string) {}
