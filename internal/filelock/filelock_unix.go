//go:build unix

// Package filelock lets one process at a time do something, such as the build of a program that several processes need.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// Lock acquires the lock on the file at a path. It creates the file if necessary. If another process holds the lock, Lock calls `onWait`
// once, and then waits until the lock is free. It returns an error if the context ends first, or if the file cannot be opened or locked.
// The caller releases the lock with the function `unlock`. The kernel also releases the lock when this process ends.
func Lock(ctx context.Context, path string, onWait func()) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for first := true; ; first = false {
		// The call returns at once if another process holds the lock. A context could not cancel a call that waits.
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if first {
			onWait()
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, fmt.Errorf("wait for the lock file %s: %w", path, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}
