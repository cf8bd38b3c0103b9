package mcp

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

// prepare puts the command into a process group of its own, so that what it
// starts can be ended with it: npx, uvx and shells leave the server as a child. The kernel kills the command when this process dies.
func prepare(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// killMarked kills the processes that have an environment variable. It looks again while it finds some, since a process
// may start another one meanwhile.
func killMarked(variable string) {
	for range 10 {
		found := false
		environments, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is well-formed
		for _, path := range environments {
			env, err := os.ReadFile(path)
			if err != nil || !bytes.Contains(append([]byte{0}, env...), []byte("\x00"+variable+"\x00")) {
				continue
			}
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil && pid != os.Getpid() {
				found = syscall.Kill(pid, syscall.SIGKILL) == nil || found
			}
		}
		if !found {
			return
		}
	}
}
