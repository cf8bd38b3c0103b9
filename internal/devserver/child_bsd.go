//go:build unix && !linux

package devserver

import (
	"os/exec"
	"syscall"
)

// bindToParent can only keep a terminal's Ctrl-C away from the child here: after
// a SIGKILL of this process the child goes on, since no signal tells it.
func bindToParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}
