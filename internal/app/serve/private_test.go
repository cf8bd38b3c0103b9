//go:build linux

package serve

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// The child processes of a worker run as the same user. If the worker is dumpable, they can read its environment in /proc.
func TestAttackWorkerCannotBeDumped(t *testing.T) {
	const getDumpable = 3
	before, _, _ := syscall.RawSyscall(syscall.SYS_PRCTL, getDumpable, 0, 0)
	defer func() { _, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prSetDumpable, before, 0) }()
	require.NoError(t, makePrivate())
	dumpable, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, getDumpable, 0, 0)
	require.Zero(t, errno)
	require.Zero(t, dumpable)
}
