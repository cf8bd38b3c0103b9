//go:build unix && !linux

package devserver

import (
	"os/exec"
	"syscall"
)

// bindToParent puts the child into a process group of its own, so that Ctrl-C in the terminal does not reach the child. Unix
// systems other than Linux cannot end the child when this process ends: if this process is killed, the child continues to run.
func bindToParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}
