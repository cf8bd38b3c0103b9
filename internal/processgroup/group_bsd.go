//go:build unix && !linux

package processgroup

import (
	"os/exec"
	"syscall"
)

// prepare makes the command start in a new process group, so that [terminateGroup] and [killGroup] also reach its child
// processes.
func prepare(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killMarked does nothing, because this system does not have the files /proc/<pid>/environ, with which Linux finds the processes
// that have an environment variable.
func killMarked(string) {}
