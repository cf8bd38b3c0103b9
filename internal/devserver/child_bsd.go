//go:build unix && !linux

package devserver

import (
	"os/exec"
	"syscall"
)

// bindToParent puts the child into a process group of its own, so that Ctrl-C in the terminal does not reach the child. These
// systems cannot end the child when this process ends: after a SIGKILL of this process the child continues to run.
func bindToParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}
