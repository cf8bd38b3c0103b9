package devserver

import (
	"os/exec"
	"syscall"
)

// bindToParent makes the kernel kill the child when this process ends in any way. It also puts the child into a process group of
// its own, so that Ctrl-C in the terminal does not reach the child. After Ctrl-C, this process first stops everything that uses the
// child, and then the child.
func bindToParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
