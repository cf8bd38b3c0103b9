package devserver

import (
	"os/exec"
	"syscall"
)

// bindToParent makes the kernel kill the child when this process dies, however
// it dies. The group of its own keeps a terminal's Ctrl-C away from the child:
// it is stopped by us, after what uses it.
func bindToParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
