//go:build linux

package serve

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// The children of a worker are of its user, whom /proc shows the environment of a process that may be dumped.
func TestAttackWorkerCannotBeDumped(t *testing.T) {
	const getDumpable = 3
	before, _, _ := syscall.RawSyscall(syscall.SYS_PRCTL, getDumpable, 0, 0)
	defer func() { _, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prSetDumpable, before, 0) }()
	require.NoError(t, makePrivate())
	dumpable, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, getDumpable, 0, 0)
	require.Zero(t, errno)
	require.Zero(t, dumpable)
}
