//go:build unix

package devserver

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

var umask sync.Mutex

// startPrivately starts a command whose files only their owner may read. For a moment the files that this process makes
// are as private.
func startPrivately(cmd *exec.Cmd) error {
	umask.Lock()
	defer umask.Unlock()
	defer syscall.Umask(syscall.Umask(0o077))
	return cmd.Start()
}

// makePrivate lets only the owner read the files of a database. Earlier versions created them readable by everybody.
func makePrivate(database string) error {
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if err := os.Chmod(database+suffix, 0o600); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func terminate(p *os.Process) { _ = p.Signal(syscall.SIGTERM) } // gone already: fine

func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
