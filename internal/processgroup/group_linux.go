package processgroup

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

// prepare makes the command start in a new process group, so that [terminateGroup] and [killGroup] also reach its child
// processes. It also makes the kernel kill the command if the worker crashes.
func prepare(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// killMarked kills all processes that have a given environment variable, except the worker. `variable` has the form NAME=value.
// It searches again until it finds no more processes, but at most 10 times, because a process may start another one during the
// search.
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
