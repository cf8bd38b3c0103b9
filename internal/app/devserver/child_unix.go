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

// umask is the lock that [startPrivately] holds while it changes the file mode mask (umask) of this process. The mask belongs to
// the whole process, so only one goroutine at a time may change it.
var umask sync.Mutex

// startPrivately starts a command with the file mode mask 0077. With this mask, only the owner can read the files that the
// command creates. During the start, the mask also applies to files that this process creates.
func startPrivately(cmd *exec.Cmd) error {
	umask.Lock()
	defer umask.Unlock()
	defer syscall.Umask(syscall.Umask(0o077))
	return cmd.Start()
}

// makePrivate makes the files of an SQLite database readable by their owner only. Earlier versions of this package created
// files that all users could read. makePrivate ignores files that do not exist.
func makePrivate(database string) error {
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if err := os.Chmod(database+suffix, 0o600); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func terminate(p *os.Process) { _ = p.Signal(syscall.SIGTERM) }

func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
