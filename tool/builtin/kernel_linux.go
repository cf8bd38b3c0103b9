package builtin

import (
	"os"
	"syscall"
)

// procMagic is the number by which statfs(2) identifies the proc file system.
const procMagic = 0x9fa0

// ofKernel reports whether a file is in the proc file system. Files in it can contain the environment variables and the
// memory of processes, and therefore secrets of the worker.
func ofKernel(f *os.File) bool {
	var about syscall.Statfs_t
	return syscall.Fstatfs(int(f.Fd()), &about) == nil && about.Type == procMagic
}
